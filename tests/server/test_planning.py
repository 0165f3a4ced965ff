"""Budgets and parameters."""

from __future__ import annotations

from typing import Any

import pytest

from grammar_cache import Constraint, Limits, compile_grammar
from server.decoding.parameters import Parameters
from server.grammars.compiled import Certified
from server.planning import budget_for, parameters_for
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.reading import parse_chat
from tests.server.running import VOCABULARY, request


def certified() -> Certified:
    """A grammar whose one answer has seven tokens."""
    grammar = compile_grammar(Constraint("choice", '["abcdefg"]'), VOCABULARY, Limits())
    return Certified(grammar, "id", grammar.minimum, "abcdefg", 1.0, "miss")


@pytest.mark.parametrize(
    ("fields", "prompt", "expected"),
    [
        ({}, 10, 32),  # the default
        ({}, 80, 20),  # what the window leaves
        ({"max_tokens": 50}, 10, 50),
        ({"max_completion_tokens": 50}, 10, 50),
        ({"max_tokens": 50, "max_completion_tokens": 50}, 10, 50),
        ({"max_tokens": 50}, 80, 20),
        ({"max_tokens": 10**9}, 10, 90),
    ],
)
def test_the_budget_is_the_least_of_wish_and_window(fields: dict[str, Any], prompt: int, expected: int) -> None:
    """T is what was asked for, or the default, as far as the window leaves room."""
    assert budget_for(parse_chat(request(**fields)), prompt, 100, 32, None) == expected


def test_without_a_wish_a_constraint_gets_what_it_needs() -> None:
    """The default never makes a constraint impossible."""
    assert budget_for(parse_chat(request()), 10, 100, 3, certified()) == 7


@pytest.mark.parametrize(
    ("fields", "prompt", "budget", "param"),
    [
        ({"max_tokens": 6}, 10, 6, "max_tokens"),
        ({"max_completion_tokens": 6}, 10, 6, "max_completion_tokens"),
        ({}, 94, 6, "max_tokens"),
    ],
)
def test_a_budget_below_the_minimum_says_what_is_needed(
    fields: dict[str, Any], prompt: int, budget: int, param: str
) -> None:
    """The refusal carries the minimum, whether it is exact, the budget and a shortest answer."""
    with pytest.raises(ApiError) as caught:
        budget_for(parse_chat(request(**fields)), prompt, 100, 32, certified())
    error = caught.value
    assert (error.code, error.param) == (ErrorCode.BUDGET_TOO_SMALL, param)
    assert error.details == {"min_tokens": 7, "exact": True, "budget": budget, "example": "abcdefg"}


@pytest.mark.parametrize("prompt", [100, 101])
def test_a_prompt_that_fills_the_window_is_refused(prompt: int) -> None:
    """A prompt leaves room for one token at least."""
    with pytest.raises(ApiError) as caught:
        budget_for(parse_chat(request()), prompt, 100, 32, None)
    assert caught.value.code is ErrorCode.CONTEXT_LENGTH_EXCEEDED


def test_two_different_limits_contradict_each_other() -> None:
    """Two names of one number may not differ."""
    with pytest.raises(ApiError) as caught:
        budget_for(parse_chat(request(max_tokens=3, max_completion_tokens=4)), 1, 100, 32, None)
    assert caught.value.code is ErrorCode.CONFLICTING_PARAMETERS


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, Parameters(9, temperature=1.0)),
        ({"temperature": 0}, Parameters(9, temperature=0.0)),
        ({"temperature": 0.5, "top_p": 0.9, "top_k": 5}, Parameters(9, temperature=0.5, top_p=0.9, top_k=5)),
        ({"top_k": -1}, Parameters(9, temperature=1.0)),
        ({"seed": -1}, Parameters(9, temperature=1.0, seed=(1 << 64) - 1)),
        (
            {"swyb": {"beam_width": 4, "alpha": 0.25, "top_k": 8, "jump_forward": False}},
            Parameters(9, beam_width=4, alpha=0.25, candidates=8, jump_forward=False),
        ),
        ({"swyb": {"beam_width": 2}}, Parameters(9, beam_width=2)),
        ({"swyb": {"beam_width": 2}, "temperature": 0.5}, Parameters(9, beam_width=2, temperature=0.5)),
        ({"temperature": 0, "swyb": {"alpha": 0.5}}, Parameters(9, alpha=0.5)),
    ],
)
def test_how_tokens_are_chosen(fields: dict[str, Any], expected: Parameters) -> None:
    """One answer is drawn and beams are ranked, unless a temperature says otherwise."""
    assert parameters_for(parse_chat(request(**fields)), 9, constrained=False) == expected


@pytest.mark.parametrize(
    ("options", "alpha"),
    [({}, 0.0), ({"beam_width": 2}, 0.5), ({"beam_width": 2, "alpha": 0}, 0.0), ({"beam_width": 2, "alpha": 1}, 1.0)],
)
def test_beams_under_a_constraint_look_broadly(options: dict[str, Any], alpha: float) -> None:
    """Unless the request says how broadly."""
    found = parameters_for(parse_chat(request(swyb=options)), 9, constrained=True)
    searches = bool(options)
    assert (found.alpha, found.keep_greedy, found.epsilon > 0) == (alpha, searches, searches)
    assert (found.promotion, found.softmax) == (("flat", "grammar") if searches else ("viable", "viable"))


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"temperature": 0.5, "swyb": {"alpha": 0.5}}, "swyb.alpha"),
        ({"swyb": {"alpha": 0.5}}, "swyb.alpha"),
        ({"swyb": {"jump_forward": "text"}}, "swyb.jump_forward"),
        ({"swyb": {"beam_width": 2}, "top_p": 0.5}, "top_p"),
        ({"swyb": {"beam_width": 2}, "top_k": 5}, "top_k"),
    ],
)
def test_options_that_contradict_each_other(fields: dict[str, Any], param: str) -> None:
    """Guidance with sampling, and truncation with beams, would be ignored: they are refused."""
    with pytest.raises(ApiError) as caught:
        parameters_for(parse_chat(request(**fields)), 9, constrained=True)
    assert (caught.value.code, caught.value.param) == (ErrorCode.CONFLICTING_PARAMETERS, param)
