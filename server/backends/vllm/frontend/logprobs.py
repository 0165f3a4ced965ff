"""Log-probabilities that vLLM tells of the tokens that its sampler has drawn, in the server's words.

vLLM computes them behind the mask: under a grammar they are those among the tokens that grammar and budget allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from server.decoding.logprobs import Likely, TokenLogprobs, told_logprob


def told(tokens: Iterable[int], logprobs: Iterable[Mapping[int, Any]] | None, count: int) -> Iterator[TokenLogprobs]:
    """Log-probabilities of tokens, and of the `count` likeliest ones in the place of each.

    `logprobs`: vLLM's, for each token a `Logprob` by token; None where nobody asked for them.
    """
    for token, found in zip(tokens, logprobs or (), strict=False):
        ranked = sorted((-one.logprob, other) for other, one in found.items() if one.logprob > float("-inf"))
        top = tuple(Likely(other, told_logprob(-logprob)) for logprob, other in ranked[:count])
        own = told_logprob(found[token].logprob)
        yield TokenLogprobs(token, own, own, None, top)
