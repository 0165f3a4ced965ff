"""The filter behind both of vLLM's interfaces: rows of searches are edited, all others stay."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from server.backends.vllm.wire.choices import Turns
from server.backends.vllm.wire.requests import BEAM, KEY, SearchRequest
from server.decoding.parameters import Parameters
from tests.server.backends.vllm.fakes import Added, BatchUpdate, Sampling, States, filter_class, made
from tests.server.decoding.grammars import DYCK, DYCK_VOCABULARY, compiled

GRAMMAR = compiled(DYCK, DYCK_VOCABULARY)
OPENS = [9.0, -9.0, 0.0, 0.0]
"""A model that opens parentheses; x would complete the text."""


@pytest.fixture
def cls(monkeypatch: pytest.MonkeyPatch) -> Any:
    return filter_class(monkeypatch)


def sampling(name: str = "r") -> Sampling:
    request = SearchRequest(name, "g", Parameters(9, beam_width=2, seed=0))
    return Sampling({KEY: request.to_dict(), BEAM: name})


def begun(cls: Any, monkeypatch: pytest.MonkeyPatch, *more: Sampling) -> Any:
    """A V1 filter with the first row of a search, whose turn it is, and others behind it."""
    found = made(cls, DYCK_VOCABULARY, monkeypatch)
    found.registry.add("g", GRAMMAR)
    added: list[Added] = [(at, each, [0, 0], []) for at, each in enumerate((sampling(), *more))]
    found.update_state(BatchUpdate(len(added), [], added, []))
    found.searches.expect(Turns({"r": ("r",)}, ()))
    return found


def test_it_is_made_as_both_runners_make_it(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """V1 gives a device and whether memory is pinned, V2 states; both check for their own base class."""
    assert {base.__name__ for base in cls.__mro__} >= {"V1LogitsProcessor", "V2LogitsProcessor"}
    for states in (None, States()):
        found = made(cls, DYCK_VOCABULARY, monkeypatch, states)
        assert found.is_argmax_invariant() is False
        assert found.apply_staged_writes() is None
        found.update_state(None)


def test_rows_of_others_stay(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of others stay beside a search; one that goes leaves nothing behind."""
    found = begun(cls, monkeypatch, Sampling(), Sampling({"other": 1}))
    logits = torch.tensor([OPENS, [1.0, float("nan"), 2.0, 3.0], OPENS])
    after = found.apply(logits.clone())
    assert after[0].softmax(0).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert torch.equal(after[1:].nan_to_num(), logits[1:].nan_to_num())
    found.update_state(BatchUpdate(1, [1, 2], [(0, Sampling(), [0], [])], []))
    assert torch.equal(found.apply(logits[:1].clone()), logits[:1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_logits_of_any_precision(cls: Any, monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype) -> None:
    """float32 is edited in place; of others comes a float32 copy."""
    logits = torch.tensor([OPENS], dtype=dtype)
    after = begun(cls, monkeypatch).apply(logits)
    assert after.dtype == torch.float32
    assert after.softmax(1).tolist() == [[1.0, 0.0, 0.0, 0.0]]
    assert (after.data_ptr() == logits.data_ptr()) == (dtype == torch.float32)


def test_a_layout_that_cannot_be_read_fails_its_searches(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches end without the places of their rows, and the engine goes on."""
    found = made(cls, DYCK_VOCABULARY, monkeypatch, States())
    found.registry.add("g", GRAMMAR)
    assert found.add_request(0, sampling())
    found.searches.expect(Turns({"r": ("r",)}, ()))
    logits = torch.tensor([OPENS])
    assert torch.equal(found.apply(logits, object()), logits)
    assert "unknown" in found.searches.take()["r"].news["failure"]


def test_arguments_that_cannot_be_read(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments that can't be read are refused where the request is made; one that comes through all the same harms
    nobody.
    """
    bad = Sampling({KEY: {"grammar": 3}, BEAM: "bad"})
    with pytest.raises(ValueError, match="swyb"):
        cls.validate_params(bad)
    cls.validate_params(sampling())
    cls.validate_params(Sampling())
    after = begun(cls, monkeypatch, bad).apply(torch.tensor([OPENS] * 2))
    assert after[0].softmax(0).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert after[1].tolist() == OPENS
