"""What requests tell the filter: there and back unchanged, and nothing else gets through."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.decoding.parameters import Ending, Parameters, Promotion, Ranking, Softmax
from server.engines.vllm.requests import KEY, NEUTRAL, RowRequest, check, request_of
from tests.engines.vllm.fakes import Sampling, sampling
from tests.strategies import examples

REQUEST = RowRequest.of("r", "g", 7, Parameters(9, seed=3))

parameters = st.builds(
    Parameters,
    budget=st.integers(0, 1 << 20),
    beam_width=st.integers(1, 9),
    alpha=st.floats(0, 1),
    candidates=st.integers(1, 999),
    temperature=st.floats(0, 5),
    top_p=st.floats(0, 1),
    top_k=st.integers(0, 999),
    seed=st.integers(0, (1 << 64) - 1),
    promotion=st.sampled_from(get_args(Promotion)),
    softmax=st.sampled_from(get_args(Softmax)),
    ranking=st.sampled_from(get_args(Ranking)),
    ending=st.sampled_from(get_args(Ending)),
)


@given(parameters, st.none() | st.text())
@examples(60)
def test_there_and_back(chosen: Parameters, grammar: str | None):
    """Through JSON, to parameters that take the same steps."""
    request = RowRequest.of("r", grammar, 4, chosen)
    assert RowRequest.from_dict(json.loads(json.dumps(request.to_dict()))) == request
    told = request.parameters
    assert replace(told, beam_width=chosen.beam_width, jump_forward=chosen.jump_forward) == chosen
    assert (told.beam_width > 1) == (chosen.beam_width > 1) == (request.mode == "beam")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "other"),
        ("promotion", "best"),
        ("ending", 1),
        ("budget", -1),
        ("budget", 2.5),
        ("budget", True),
        ("seed", None),
        ("seed", 1 << 64),
        ("seed", -1),
        ("candidates", 0),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("temperature", "1"),
        ("top_p", 1.5),
        ("alpha", -0.1),
        ("grammar", 5),
        ("request", None),
        ("prompt_tokens", -3),
    ],
)
def test_other_values_are_refused(name: str, value: Any):
    with pytest.raises(ValueError, match=f"{KEY}.{name}"):
        RowRequest.from_dict(REQUEST.to_dict() | {name: value})


@pytest.mark.parametrize("data", [None, [], "x", {}, {"grammar": "g"}, REQUEST.to_dict() | {"more": 1}])
def test_other_shapes_are_refused(data: object):
    with pytest.raises(ValueError, match=KEY):
        RowRequest.from_dict(data)


def test_draws_need_a_seed():
    with pytest.raises(ValueError, match="seed"):
        RowRequest.of("r", "g", 7, Parameters(9))


def test_requests_of_others_are_none_of_ours():
    for extra in (None, {}, {"other": 1}):
        assert request_of(Sampling(extra)) is None
        check(Sampling(extra, temperature=1.0, seed=5))
    assert request_of(sampling(REQUEST)) == REQUEST


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", 2),
        ("seed", 0),
        ("min_tokens", 1),
        ("presence_penalty", 0.5),
        ("frequency_penalty", -0.5),
        ("repetition_penalty", 1.1),
        ("logit_bias", {1: 2.0}),
        ("allowed_token_ids", [1]),
        ("bad_words", ["x"]),
        ("structured_outputs", object()),
    ],
)
def test_what_would_choose_other_tokens_is_refused(name: str, value: Any):
    """Each by its name; at the value that does nothing it passes."""
    told = sampling(REQUEST)
    check(told)
    setattr(told, name, value)
    with pytest.raises(ValueError, match=name):
        check(told)


def test_beams_are_scaled_here_alone():
    """vLLM's temperature would scale what the filter has scaled."""
    beam = replace(REQUEST, mode="beam")
    check(sampling(beam))
    check(Sampling({KEY: REQUEST.to_dict()}, temperature=1.0))
    with pytest.raises(ValueError, match="temperature"):
        check(Sampling({KEY: beam.to_dict()}, temperature=1.0))


def test_all_fields_are_told_apart():
    """A field without a check would pass anything."""
    assert {field.name for field in fields(RowRequest)} == set(REQUEST.to_dict())
    assert set(NEUTRAL) >= {"n", "seed", "min_tokens", "structured_outputs", "thinking_token_budget"}
