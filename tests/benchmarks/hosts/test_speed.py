"""Table of two servers' speed: requests and tokens a second by turns, and what was taken out."""

from __future__ import annotations

from benchmarks.hosts.speed import LEVELS, Row, _table


def test_tokens_a_second_stand_beside_requests() -> None:
    """Answers that are twice as long take twice the time: the same tokens a second. Turns are compared."""
    rows = [Row(turn, "plugin", level, 2.0 * turn, 8, 8, 160, 3) for turn in (1, 2) for level in (*LEVELS, 0)]
    rows += [Row(turn, "peer", level, 4.0 * turn, 2, 8, 80) for turn in (2, 1) for level in (*LEVELS, 0)]
    table = _table(rows)
    assert [line[0] for line in table] == ["4 at once", "16 at once", "64 at once", "gap, 20 new schemas"]
    assert table[0][1:] == ["3.00 ± 1.41", "6.00 ± 2.83", "0.50 ± 0.00", "1.00 ± 0.00", "16 of 16", "4 of 16", "6, 0"]


def test_rows_that_know_no_tokens_have_no_rate() -> None:
    """Rows of an older run are still read."""
    rows = [Row(1, server, level, 2.0, 8, 8) for server in ("plugin", "peer") for level in (*LEVELS, 0)]
    assert _table(rows)[0][3:5] == ["1.00", ""]
