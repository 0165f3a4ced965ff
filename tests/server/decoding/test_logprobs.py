"""Log-probabilities: the model's own by definition, and always finite."""

from __future__ import annotations

import numpy as np
import pytest

from server.decoding.candidates import Place
from server.decoding.logprobs import LEAST, token_logprobs
from tests.server.decoding.grammars import DYCK, DYCK_VOCABULARY, compiled
from tests.server.decoding.stepping import log_softmax

GRAMMAR = compiled(DYCK, DYCK_VOCABULARY)


def test_the_models_own_and_the_share_among_viable_tokens() -> None:
    """`(` and `x` may begin a text; `)` and the end, which the model likes, may not."""
    row = np.array([1.0, 4.0, 2.0, 3.0], np.float32)
    told = token_logprobs(GRAMMAR, Place(GRAMMAR.start, 9), row, 0, 2, forced=True)
    assert told.logprob == pytest.approx(log_softmax(row)[0])
    assert told.viable == pytest.approx(log_softmax(row[[0, 2]])[0])
    assert [other.token for other in told.top] == [1, 3]
    assert [other.logprob for other in told.top] == pytest.approx(log_softmax(row)[[1, 3]])
    assert told.forced
    alone = token_logprobs(GRAMMAR, Place(GRAMMAR.start, 1), row, 2, 0, forced=False)
    assert (alone.viable, alone.top) == (0.0, ())


@pytest.mark.parametrize(
    "row", [[np.nan] * 4, [np.inf] * 4, [-np.inf] * 4, [np.inf, np.nan, -np.inf, 0.0], [-1e30, 1e30, 0, 1e9]]
)
def test_they_are_finite(row: list[float]) -> None:
    """Whatever the logits, numbers lie between the least that is told and 0."""
    for token in (0, 2):
        told = token_logprobs(GRAMMAR, Place(GRAMMAR.start, 9), np.array(row, np.float32), token, 4, forced=False)
        for number in (told.logprob, told.viable, *(other.logprob for other in told.top)):
            assert LEAST <= number <= 0.0
