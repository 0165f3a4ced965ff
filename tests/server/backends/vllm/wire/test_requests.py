"""Requests tell the filter what they ask: there and back unchanged, and nothing else gets through."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.backends.vllm.wire.requests import BEAM, KEY, LOCAL, NEUTRAL, SearchRequest, check, request_of, row_of
from server.decoding.parameters import Ending, Parameters, Penalties, Promotion, Ranking, Softmax
from tests.server.backends.vllm.fakes import Sampling
from tests.strategies import examples

REQUEST = SearchRequest("r", "g", Parameters(9, seed=3))

parameters = st.builds(
    Parameters,
    budget=st.integers(0, 1 << 20),
    beam_width=st.integers(1, 9),
    answers=st.integers(1, 9),
    jump_forward=st.sampled_from((False, True, "text")),
    stops=st.lists(st.binary(max_size=3), max_size=2).map(tuple),
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
    special_names=st.booleans(),
    keep_greedy=st.booleans(),
    epsilon=st.floats(0, 1),
)


@given(parameters, st.none() | st.text(), st.lists(st.integers(0, 9)).map(tuple))
@examples(60)
def test_there_and_back(chosen: Parameters, grammar: str | None, begun: tuple[int, ...]) -> None:
    """Through JSON."""
    request = SearchRequest("r", grammar, chosen, begun)
    assert SearchRequest.from_dict(json.loads(json.dumps(request.to_dict()))) == request


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("beam_width", 0),
        ("answers", True),
        ("jump_forward", "tokens"),
        ("jump_forward", 1),
        ("stops", "ab"),
        ("begun", [1.0]),
        ("begun", 3),
        ("stops", [b"ab"]),
        ("stops", ["xy"]),
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
        ("epsilon", 1.5),
        ("keep_greedy", 1),
        ("trace_bytes", 5),
        ("grammar", 5),
        ("request", None),
    ],
)
def test_other_values_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{KEY}.{name}"):
        SearchRequest.from_dict(REQUEST.to_dict() | {name: value})


@pytest.mark.parametrize("data", [None, [], "x", {}, {"grammar": "g"}, REQUEST.to_dict() | {"more": 1}])
def test_other_shapes_are_refused(data: object) -> None:
    with pytest.raises(ValueError, match=KEY):
        SearchRequest.from_dict(data)


def test_requests_of_others_are_none_of_ours() -> None:
    for extra in (None, {}, {"other": 1}):
        assert request_of(Sampling(extra)) is None
        check(Sampling(extra, temperature=1.0, seed=5))
    assert request_of(Sampling({KEY: REQUEST.to_dict()})) == REQUEST


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
def test_what_would_choose_other_tokens_is_refused(name: str, value: Any) -> None:
    """Each by its name; at the value that does nothing it passes."""
    told = Sampling({KEY: REQUEST.to_dict()})
    check(told)
    setattr(told, name, value)
    with pytest.raises(ValueError, match=name):
        check(told)


def test_rows_of_beams_have_names() -> None:
    assert row_of(Sampling({BEAM: "r/1"})) == "r/1"
    for extra in (None, {}, {BEAM: 3}, {KEY: REQUEST.to_dict()}):
        assert row_of(Sampling(extra)) is None


def test_all_fields_are_told_apart() -> None:
    """A field without a check would pass anything. What workers don't have, the front end refuses."""
    names = {field.name for kind in (SearchRequest, Parameters) for field in fields(kind)}
    assert names - {"parameters"} - LOCAL == set(REQUEST.to_dict())
    changed = Parameters(9, min_p=1, penalties=Penalties(1, 1, 2, ((1, 1.0),)), stop_ids=(1,), min_tokens=1)
    assert len(replace(changed, ignore_end=True, logprobs=0).local) == len(LOCAL) - 1 + len(changed.penalties.asked)
    assert set(NEUTRAL) >= {"n", "seed", "min_tokens", "structured_outputs", "thinking_token_budget"}
