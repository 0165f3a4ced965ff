"""Tables and pictures, from rows alone."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from server.evaluation.description import Description, Sweep, continued, read_description, write_description
from server.evaluation.records import Records, Row
from server.evaluation.reporting import tables
from server.evaluation.reporting.markdown import difference, number, percent, share, table
from server.evaluation.reporting.plots import colours
from server.evaluation.reporting.report import Files, report, report_all
from server.evaluation.reporting.statistics import mcnemar
from server.evaluation.reporting.summary import Cell, cells, pairs
from server.evaluation.task import Verdict
from tests.server.evaluation.world import row

RIGHT = Verdict(True, True, True)
WRONG = Verdict(True, True, False)
BROKEN = Verdict(False, False, False)


def lines(text: str) -> list[dict[str, str]]:
    """A Markdown table's rows by column; of equal names the first."""
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return [dict(reversed(list(zip(header, line, strict=True)))) for line in rows]


def answers(method: str, verdicts: list[Verdict | None], level: str = "120", **fields: object) -> list[Row]:
    """Rows of the tasks 0, 1, ...; None is a refusal for the budget."""
    return [
        row(task=str(at), method=method, level=level, text="x", verdict=verdict, **fields)
        if verdict
        else row(task=str(at), method=method, level=level, outcome="refused", min_tokens=999)
        for at, verdict in enumerate(verdicts)
    ]


def test_shares_are_of_all_tasks_and_means_of_answers() -> None:
    """Three of four valid although the fourth was refused; its absent tokens and seconds don't count."""
    made = answers("swyb", [RIGHT, RIGHT, WRONG, None], tokens=10, seconds=2.0, perplexity=3.0, feasible_tokens=5)
    [line] = lines(tables.results(cells(made), [Sweep("swyb", "120", 1, 3, 30, 6.0)]))
    assert line["valid"].startswith("75.0 % (")
    assert (line["n"], line["answered"], line["valid of answered"], line["feasible"]) == ("4", "3", "100.0 %", "75.0 %")
    assert line["correct"].startswith("50.0 % (")
    assert (line["tokens"], line["s"], line["tokens/s"], line["perplexity"]) == ("10.0", "2.00", "5.00", "3.00 (3.00)")


def test_lines_are_by_budget_then_method() -> None:
    """Budgets ascend as numbers, methods stay in the order in which they were asked for."""
    made = [*answers("b", [RIGHT], "120"), *answers("a", [RIGHT], "32"), *answers("b", [RIGHT], "32")]
    found = [(cell.level, cell.method) for cell in cells(made)]
    assert found == [("32", "b"), ("32", "a"), ("120", "b")]


def test_comparisons_are_paired() -> None:
    """Differences are of the tasks that both methods have, p is McNemar's on those where they differ."""
    default = answers("one", [RIGHT, RIGHT, RIGHT, BROKEN, WRONG], tokens=10)
    other = answers("two", [RIGHT, BROKEN, WRONG, RIGHT, None], tokens=14)
    first, second = lines(tables.comparisons(*_default_and_others(default + other)))
    assert (first["correct"], first["Δ"]) == ("60.0 %", "–")
    assert (second["correct"], second["Δ"], second["p"]) == ("40.0 %", "-20.0 (-80.0 to +40.0)", f"{mcnemar(2, 1):.3f}")
    assert tables.comparisons(*_default_and_others(default + other)).count("+4.00 (+4.00 to +4.00)") == 1


def _default_and_others(rows: list[Row]) -> tuple[Cell, list[Cell]]:
    [default, *others] = cells(rows)
    return default, others


def test_pairs_need_equal_tasks() -> None:
    one, two = cells([*answers("one", [RIGHT, WRONG]), *answers("two", [RIGHT])])
    assert [(a.task, b.task) for a, b in pairs(one, two)] == [("0", "0")]


def test_refusals_are_counted_by_reason() -> None:
    made = [*answers("swyb", [None, None, RIGHT]), row(task="9", outcome="failed", reason="broke")]
    assert tables.refusals(cells(made)) == (
        "- swyb: 2 × T = 120 is below the fewest tokens of an answer\n- swyb: 1 × broke"
    )


def test_numbers_as_text() -> None:
    assert [number(value) for value in (123.4, 12.34, 1.234, 0.0, None)] == ["123", "12.3", "1.23", "0.00", "–"]
    assert (percent(1, 3), percent(0, 0), share(0, 0)) == ("33.3 %", "–", "–")
    assert share(2, 4) == "50.0 % (15–85)"
    assert difference([1.0, 1.0]) == "+1.00 (+1.00 to +1.00)"


def test_tables_leave_out_what_nobody_has() -> None:
    assert table(["a", "b", "c"], [["x", "–", "1"]]).splitlines() == ["| a   |   c |", "| --- | --: |", "| x   |   1 |"]


def test_colours_are_fixed_and_distinct() -> None:
    """Ours, others and the model alone, whatever their order."""
    names = ["base", "swyb", "xgrammar", "swyb:M=4", "sample-verify"]
    found = colours(cells([made for name in names for made in answers(name, [RIGHT])]))
    assert len(set(found.values())) == len(names)
    assert found["swyb"] == colours(cells(answers("swyb", [RIGHT])))["swyb"]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A finished run of two methods at three budgets, one of them relative."""
    pytest.importorskip("matplotlib", reason="the package matplotlib (extra: eval) is not installed")
    made = Files(tmp_path / "out", "json")
    description = Description("json", "model", "json-mode", 0, 3).of_today()
    write_description(made.description, description)
    with Records(made.rows) as records:
        for level in ("32", "120", "1.1x"):
            for name, verdicts in (("swyb", [RIGHT, WRONG, None]), ("base", [RIGHT, BROKEN, BROKEN])):
                for one in answers(name, [*verdicts], level, tokens=7, seconds=1.5, perplexity=2.0, feasible_tokens=9):
                    records.add(one)
    return made


def test_reports_show_every_picture(files: Files) -> None:
    """Absolute and relative budgets have tables of their own; each picture is there, an SVG that names the methods."""
    text = report(files)
    assert text == files.report.read_text()
    pictures = sorted(path.name for path in files.folder.glob("*.svg"))
    assert pictures == ["json-methods-relative.svg", "json-methods.svg", "json-validity.svg"]
    for name in pictures:
        assert f"({name})" in text
        assert ElementTree.parse(files.folder / name).getroot().tag.endswith("svg")


def test_reports_are_the_same_each_time(files: Files) -> None:
    """Byte for byte, pictures included: a changed picture is a changed figure."""
    report(files)
    before = {path.name: path.read_bytes() for path in files.folder.iterdir()}
    assert report_all(files.folder) == [files]
    assert {path.name: path.read_bytes() for path in files.folder.iterdir()} == before


def test_folders_without_results(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no results"):
        report_all(tmp_path)


def test_sweeps_of_a_kind_are_added_up() -> None:
    """Sweeps of another budget or concurrency stay apart."""
    found = Description("json", "model", "json-mode", 0, 3)
    for sweep in (Sweep("a", "32", 1, 1, 7, 1.5), Sweep("a", "32", 2, 4, 9, 2.0), Sweep("a", "32", 1, 2, 8, 0.5)):
        found = found.add(sweep)
    assert set(found.sweeps) == {Sweep("a", "32", 1, 3, 15, 2.0), Sweep("a", "32", 2, 4, 9, 2.0)}


def test_runs_of_something_else_are_not_mixed(tmp_path: Path) -> None:
    """Experiments go on with more tasks; another model's rows belong elsewhere."""
    path = tmp_path / "json.run.json"
    sweep = Sweep("swyb", "120", 1, 3, 30, 6.0)
    first = continued(path, Description("json", "model", "json-mode", 0, 3, versions={"peer": "1.0"}))
    write_description(path, Description("json", "model", "json-mode", 0, 3, versions=first.versions, sweeps=(sweep,)))
    more = continued(path, Description("json", "model", "json-mode", 0, 9))
    assert (more.tasks, more.sweeps, more.versions["peer"]) == (9, (sweep,), "1.0")
    assert read_description(path) == more
    for other in (Description("json", "another", "json-mode", 0, 9), Description("json", "model", "json-mode", 1, 9)):
        with pytest.raises(ValueError, match="another folder"):
            continued(path, other)
