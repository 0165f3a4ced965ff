"""Room in tables: what is in them stays as it is, what is reserved is copied no more, and takes no memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grammar_cache.configurations import room
from grammar_cache.configurations.arena import ROWS
from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Seq
from grammar_cache.limits import Limits
from grammar_cache.network.network import build

BRACKETS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
BODY = Alt((*(Seq((Bytes(a), Ref("p"), Bytes(b))) for a, b in BRACKETS), Bytes(b"x")))
NETWORK = build(Grammar({"p": BODY}, "p"), Limits())
STATUS = Path("/proc/self/status")


def opened(count: int, table: Configurations) -> Configurations:
    """The table behind so many texts of opening brackets, no two of them alike."""
    for number in range(count):
        at = table.start
        while number:
            number, bracket = divmod(number, 3)
            at = table.step(at, BRACKETS[bracket][0][0])
        assert at != DEAD
    return table


def content(table: Configurations) -> list[object]:
    """All that a table says of its configurations and nodes."""
    rows = [table.row(configuration).tolist() for configuration in range(200)]
    items = [table.items(configuration) for configuration in range(table.count)]
    return [rows, items, [table.edges(node) for node in range(table.node_count)]]


@pytest.mark.parametrize(("copied", "reserved"), [(256, 1 << 12), (1 << 12, 1 << 14), (1 << 12, 1 << 24)])
def test_tables_say_the_same_however_they_grow(copied: int, reserved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reserved early or late, and where what is reserved doesn't last."""
    without = content(opened(700, Configurations(NETWORK, 100_000)))
    monkeypatch.setattr(room, "_COPIED", copied)
    monkeypatch.setattr(room, "_RESERVED", reserved)
    table = opened(350, Configurations(NETWORK, 100_000))
    table.trim(range(0, table.count, 2))
    assert content(opened(700, table)) == without


def test_what_is_reserved_is_copied_no_more() -> None:
    """Rows, items and edges stay where they are while the table goes on growing."""
    table = Configurations(NETWORK, 1_000_000)
    kinds = ("rows", "items", "edges")
    count, places = 0, dict.fromkeys(kinds, 0)
    while not all(places[kind] > 1_000_000 for kind in kinds):
        count += 5_000
        opened(count, table)
        places = {kind: getattr(table.arena, kind).nbytes for kind in kinds}
    arrays, before = [getattr(table.arena, kind) for kind in kinds], table.arena.hashes
    opened(2 * count, table)
    assert table.arena.hashes is not before
    assert all(getattr(table.arena, kind) is array for kind, array in zip(kinds, arrays, strict=True))
    used = 8 * int(table.arena.used[ROWS]) + 200 * table.count
    assert table.held_bytes < used < sum(array.nbytes for array in arrays)


@pytest.mark.skipif(not STATUS.exists(), reason="says how much memory is taken on Linux only")
def test_what_is_reserved_takes_no_memory() -> None:
    """Pages that are written are few of 640 MB."""

    def taken() -> int:
        [line] = [line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS")]
        return int(line.split()[1]) << 10

    before = taken()
    arrays = [room._with_places(np.ones((16, 4), np.int32), 4 << 20, 16) for _ in range(10)]
    assert all(array[:16].all() and not array[16:20].any() for array in arrays)
    assert taken() - before < 2 << 20
