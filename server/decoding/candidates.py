"""The tokens a beam looks at: the model's best and the grammar's proposals, those that the horizon leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from server.decoding.language import Language

BLOCK = 256
"""Values that `highest` looks at together."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Viable tokens of one beam: ids, the configurations and distances behind them, and their logits, best first.

    The beam is at `configuration` with `tokens_left` to spend. `end` is the id of the end token among the candidates,
    if the text may end here: its distance is 0 and its configuration is that of the beam. `forced`: the budget kept a
    better token of the grammar out.
    """

    configuration: int
    tokens_left: int
    tokens: NDArray[np.int32]
    configurations: NDArray[np.int32]
    distances: NDArray[np.int32]
    logits: NDArray[np.floating]
    end: int | None
    forced: bool


def highest(values: NDArray[np.floating], count: int) -> NDArray[np.int64]:
    """Indices of the `count` highest values, best first; equal values in the order of their index.

    Only what reaches the `count`-th best block maximum can be among them: one pass instead of a partition.
    """
    whole = len(values) // BLOCK * BLOCK
    maxima = values[:whole].reshape(-1, BLOCK).max(axis=1)
    if len(maxima) > count:
        chosen = np.flatnonzero(values >= np.partition(maxima, len(maxima) - count)[len(maxima) - count])
    else:
        chosen = np.arange(len(values))
    return chosen[np.lexsort((chosen, -values[chosen]))][:count]


def candidates(
    language: Language, configuration: int, logits: NDArray[np.floating], tokens_left: int, count: int
) -> Candidates:
    """The model's best `count` tokens and the grammar's proposals, where viable.

    If none of the model's best is, the best `count` of all viable tokens. None at all only where the text is complete.
    """
    end = _end_token(language, configuration, logits)
    best = highest(logits, count)
    tokens = np.union1d(best, language.proposals(configuration)).astype(np.int32)
    after, distances = _after(language, configuration, tokens, tokens_left)
    viable = distances < tokens_left
    lost = logits[tokens[(after >= 0) & ~viable]]
    if (end is None or end not in best) and not viable[np.isin(tokens, best)].any():
        allowed = np.flatnonzero(language.mask(configuration, tokens_left)).astype(np.int32)
        allowed = allowed[language.vocabulary.string_of[allowed] >= 0]
        tokens = allowed[highest(logits[allowed], count)]
        after, distances = _after(language, configuration, tokens, tokens_left)
        viable = distances < tokens_left
    kept = logits[tokens[viable]].max(initial=-np.inf)
    forced = bool(lost.max(initial=-np.inf) > (kept if end is None else max(kept, logits[end])))
    tokens, after, distances = tokens[viable], after[viable], distances[viable]
    if end is not None:
        tokens = np.append(tokens, np.int32(end))
        after = np.append(after, np.int32(configuration))
        distances = np.append(distances, np.int32(0))
    order = np.lexsort((tokens, distances, -logits[tokens]))
    tokens = tokens[order]
    return Candidates(configuration, tokens_left, tokens, after[order], distances[order], logits[tokens], end, forced)


def _after(
    language: Language, configuration: int, tokens: NDArray[np.int32], tokens_left: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    after = language.consume_batch(np.array([configuration], np.int32), tokens[None, :])[0]
    return after, language.distances(after, tokens_left - 1)


def _end_token(language: Language, configuration: int, logits: NDArray[np.floating]) -> int | None:
    """The likeliest of the model's end tokens where the text may end."""
    stops = language.vocabulary.stop_ids
    if not stops or not language.accepts(configuration):
        return None
    return max(stops, key=lambda token: (logits[token], -token))
