"""Defaults of the server, as a method of evaluations."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.decoding.parameters import Parameters
from server.evaluation.methods.server_defaults import server_defaults
from server.evaluation.methods.spec import parameters, spec
from server.planning import EPSILON, SEARCH_ALPHA
from tests.server.evaluation.world import evaluated, read_tasks


def test_one_beam_is_greedy_as_in_the_paper() -> None:
    assert server_defaults(1) == Parameters(budget=1)


def test_beams_are_those_of_a_request() -> None:
    """A setting that is named stands beside the defaults."""
    found = server_defaults(4)
    assert (found.beam_width, found.alpha, found.epsilon, found.keep_greedy) == (4, SEARCH_ALPHA, EPSILON, True)
    assert (found.promotion, found.softmax) == ("flat", "grammar")
    assert parameters(spec("swyb:M=4:alpha=0.2"), found).alpha == 0.2


def test_methods_have_them(tmp_path: Path) -> None:
    """Methods have either defaults, and no third."""
    tasks = read_tasks(tmp_path / "jme")[:1]
    paper, served = evaluated(tasks, tmp_path / "rows", "swyb:M=4,swyb:M=4:defaults=server", "12")
    assert paper.outcome == served.outcome == "answered"
    with pytest.raises(ValueError, match="defaults is one of"):
        evaluated(tasks, tmp_path / "more", "swyb:defaults=other", "12")
