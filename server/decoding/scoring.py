"""From logits to the log-probabilities that rank beams.

A token's *guided* score is the softmax of its promoted logit over the viable candidates of its beam (eq. 16), or over
the model's whole vocabulary: then a beam also pays for what the model would rather have written, were it allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from grammar_cache.algorithms.candidate_order import log_sum
from grammar_cache.array_types import Floats
from server.decoding.parameters import Softmax

NORMALISERS: Mapping[Softmax, Callable[[Floats, float], float]] = MappingProxyType(
    {"viable": lambda promoted, best: log_sum(promoted), "vocabulary": lambda promoted, best: -best}
)
"""What promoted logits less z⁺ are above the guided scores, from all of them and the model's log-probability of z⁺."""
