"""Requests that are sent to servers, against a server of ours, and tables from rows. No vLLM needed."""

from __future__ import annotations

import asyncio
import json

import pytest

from benchmarks.data import Task
from benchmarks.vllm.chats import asked, body_of, valid
from benchmarks.vllm.memory import MemoryRow, answered, growth, kind_of, leaks
from benchmarks.vllm.server import LoadRow, report
from tests.server.running import eventually, serving

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
TASK = Task("one", ({"role": "user", "content": "a"},), json.dumps(SCHEMA), '{"n":1}')

HERE = {"model": "scripted"}


def row(server: str, turn: int, seconds: float) -> LoadRow:
    return LoadRow(server, "schema", 64, 4, turn, seconds, seconds / 2, 100, 0, 3, [seconds / 2] * 4)


def test_requests_are_answered_and_judged() -> None:
    """Requests run as many at once as asked for, and are answered in order; a refusal has its reason."""
    bodies = [body_of(TASK, size, constrained=True) | HERE for size in (40, 1, 41)]
    with serving() as running:
        seconds, replies = asked(running.base, bodies, 2)
    assert seconds >= max(reply.seconds for reply in replies)
    assert [valid(reply.text, TASK) for reply in replies] == [True, False, True]
    assert replies[1].text is None and "budget_too_small" in replies[1].reason
    assert all(reply.tokens for reply in (replies[0], replies[2]))


def test_all_kinds_are_answered() -> None:
    """Whole, streamed and cancelled, plain and constrained, beams too: none fails, and nothing is left."""
    kinds = [kind_of([TASK], at) for at in range(60)]
    with serving() as running:
        replies = asyncio.run(answered(running.base, [(how, {**body, **HERE}) for how, body in kinds]))
        eventually(lambda: running.service.present == 0)
    assert {how for how, _ in kinds} == {"whole", "streamed", "cancelled"}
    assert [reply.reason for reply in replies if reply.text is None] == []


@pytest.mark.parametrize(
    ("text", "expected"), [('{"n":1}', True), ('{"n":"1"}', False), ('{"n":', False), (None, False)]
)
def test_valid_is_whole_and_meets_the_schema(text: str | None, expected: bool) -> None:
    assert valid(text, TASK) is expected


def test_ratios_are_those_of_one_turn() -> None:
    """The medians of three turns: theirs took twice as long in each, while the machine got slower."""
    rows = [
        row(name, turn, factor * 4.0**turn) for turn in range(3) for name, factor in (("swyb", 1.0), ("other", 2.0))
    ]
    ours, theirs = report(rows).splitlines()[2:]
    cells = [cell.strip() for cell in theirs.strip("|").split("|")]
    assert cells[:4] == ["schema", "64", "4", "other"]
    assert cells[4:7] == ["0.50", "12.5", "4.00"]
    assert cells[-2:] == ["2.00", "2.00"]
    assert "75.0 %" in ours


def test_growth_counts_from_where_caches_are_full() -> None:
    rows = [MemoryRow("swyb", at, 0, 100 if at else 10, 100) for at in range(0, 101, 10)]
    assert growth(rows) == (0, 0)
    assert growth([*rows[:-1], MemoryRow("swyb", 100, 0, 120, 90)]) == pytest.approx((0.2, -0.1))


@pytest.mark.parametrize(
    ("front_end", "engine", "theirs", "expected"),
    [(104, 100, 100, True), (102, 102, 100, False), (100, 110, 100, True), (100, 110, 108, False)],
)
def test_a_leak_is_what_vllms_own_server_has_not(front_end: int, engine: int, theirs: int, expected: bool) -> None:
    """The engine is vLLM's, and may grow as it does by itself; the front end is ours."""
    rows = [MemoryRow("swyb", at, 0, 100, 100) for at in (0, 50)] + [MemoryRow("swyb", 100, 0, front_end, engine)]
    rows += [MemoryRow("xgrammar", at, 0, 100, 100) for at in (0, 50)] + [MemoryRow("xgrammar", 100, 0, 150, theirs)]
    assert leaks(rows) is expected
