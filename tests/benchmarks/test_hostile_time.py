"""Hostile grammars: made from their numbers, and every text of one that compiles is completed in time."""

from __future__ import annotations

from benchmarks.core.hostile_grammars import FAMILIES, TURNS, hostile
from benchmarks.core.hostile_time import measured, report
from grammar_cache import Limits, Vocabulary

LETTERS = Vocabulary([*(bytes([byte]) for byte in range(97, 123)), b"aa", b"ab", b"cbc", b"((", None], [30])


def test_each_number_is_a_grammar_of_its_own() -> None:
    """Numbers give the families by turns, the same grammar each time, and mutations of every other one."""
    first, again = (list(hostile(range(28))) for _ in range(2))
    assert first == again
    assert len({one.constraint for one in first}) > 20
    assert {one.family.removesuffix(", mutated") for one in first} == set(TURNS)
    assert sum(one.family.endswith(", mutated") for one in first) == 14
    others = [name for name in FAMILIES if name not in TURNS]
    assert {one.family.removesuffix(", mutated") for one in hostile(range(4), others)} == set(others)


def test_witnesses_fit_and_what_is_held_is_bounded() -> None:
    """Every step of small searches has a witness that fits, or raises; a grammar holds no more than a few limits."""
    limits = Limits(start_fuel=200_000, step_fuel=50_000, byte_cost=1_000, memory_bytes=4 << 20, table_bytes=1 << 20)
    rows = [measured(one, LETTERS, limits) for one in hostile(range(14))]
    assert sum(row.worst > 0 for row in rows) > 7
    assert max(row.megabytes for row in rows) < 64
    table = report(rows)
    assert all(row.family in table for row in rows)
