"""A decoder and a model beside it, as tests drive them."""

import numpy as np
from numpy.typing import NDArray

from server.decoding.decoder import Decoder
from server.decoding.step import steps


def advance(decoder: Decoder, logits: NDArray[np.floating]) -> None:
    """One step, given the logits of every row: [rows of `wanted`, vocabulary size]."""
    decoder.advance(steps(decoder.language, decoder.wanted.places, logits, decoder.parameters))
