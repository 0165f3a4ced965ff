"""The table of members, from rows alone."""

from __future__ import annotations

from dataclasses import replace

from server.evaluation.members import Members
from server.evaluation.records import Row
from server.evaluation.reporting.member_table import member_table
from server.evaluation.reporting.summary import cells
from server.evaluation.task import Verdict
from tests.server.evaluation.reporting.test_report import lines
from tests.server.evaluation.world import row

HALF = Members(total=4, right=2, missing=0, empty=1, cut=1, odd=0)


def answered(task: str, method: str, counts: Members | None, **fields: object) -> Row:
    verdict = Verdict(True, True, False, members=counts)
    return row(task=task, method=method, level="24", text="x", verdict=verdict, **fields)


def refused(task: str, method: str) -> Row:
    return row(task=task, method=method, level="24", outcome="refused", min_tokens=99)


def table(rows: list[Row]) -> list[dict[str, str]]:
    return lines(member_table(cells(rows)).partition("\n\n")[2])


def test_members_are_of_the_tasks_that_the_first_method_answers() -> None:
    """Answers of another method beside them don't count; where it has none, it lacks all members."""
    made = [
        *(answered("1", "a", HALF, unlikely=1), answered("2", "a", HALF), refused("3", "a")),
        *(answered("1", "b", replace(HALF, right=3)), refused("2", "b"), answered("3", "b", HALF)),
    ]
    first, second = table(made)
    names = ("n", "members", "right", "missing", "empty", "cut", "unlikely")
    assert [first[name] for name in names] == ["2", "8", "4", "0", "2", "2", "1"]
    assert [second[name] for name in names] == ["2", "8", "3", "4", "1", "1", "–"]


def test_methods_are_compared_task_by_task() -> None:
    """Ten tasks better and one worse is a sign test of p = 0.012; one equal counts nowhere."""
    made = [answered(str(task), "a", HALF) for task in range(12)]
    for task in range(12):
        right = 3 if task < 10 else 2 if task < 11 else 1
        made.append(answered(str(task), "b", replace(HALF, right=right, empty=0 if task < 10 else 1)))
    _, second = table(made)
    assert (second["right: better"], second["worse"], second["p"]) == ("10", "1", "0.012")
    assert second["empty or missing: better"] == "10"


def test_rows_without_members_have_no_table() -> None:
    assert member_table(cells([row(task="1", text="x", verdict=Verdict(True, True, True))])) == ""
