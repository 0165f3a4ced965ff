"""Log-probabilities of vLLM's, in the server's words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from server.backends.vllm.frontend.logprobs import told
from server.decoding.logprobs import LEAST, Likely, TokenLogprobs


def found(**logprobs: float) -> Any:
    """vLLM's words about a token's place."""
    return {int(token[1:]): SimpleNamespace(logprob=logprob) for token, logprob in logprobs.items()}


def test_the_likeliest_are_told_best_first() -> None:
    """The likeliest tokens come beside the drawn one, as many as were asked for, and none outside the mask."""
    places = [found(t5=-3.0, t1=-0.5, t2=-1.0), found(t2=0.1, t3=float("-inf"))]
    assert list(told([5, 2], places, 2)) == [
        TokenLogprobs(5, -3.0, -3.0, None, (Likely(1, -0.5), Likely(2, -1.0))),
        TokenLogprobs(2, 0.0, 0.0, None, (Likely(2, 0.0),)),
    ]
    assert next(told([5], places, 0)).top == ()


def test_numbers_are_finite() -> None:
    """A token without probability has the least number; where nobody asked there is nothing."""
    [one] = told([3], [found(t3=float("-inf"), t4=-1.0)], 1)
    assert (one.logprob, one.top) == (LEAST, ((4, -1.0),))
    assert list(told([3], None, 0)) == []
