"""A decoder and a model beside it, as tests drive them."""

import numpy as np
from numpy.typing import NDArray

from server.decoding.decoder import Decoder
from server.decoding.step import steps


def log_softmax(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Logarithms of the softmax, in float64."""
    shifted = logits.astype(np.float64) - logits.max()
    found: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return found


def advance(decoder: Decoder, logits: NDArray[np.floating]) -> None:
    """One step, given the logits of every row: [rows of `wanted`, vocabulary size]."""
    decoder.advance(steps(decoder.language, decoder.wanted.places, logits, decoder.parameters))
