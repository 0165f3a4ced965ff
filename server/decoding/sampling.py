"""Drawing a token exactly from the model's distribution, restricted to what is viable.

A draw from the whole distribution, repeated until it is viable, is a draw from the viable part of it. So the first
draw is tried alone: mostly it will do. If not, the model's best tokens are judged together, and what is known of them
is left out of the next draws: tokens that the grammar refuses first, then those that only the budget does, so that it
shows whether the budget had a say. A draw among tokens that nobody has looked at needs the full set of viable ones.
Truncation counts viable tokens only, and mostly the best tokens settle it.

All chance is in the numbers that are given: the same ones yield the same token.
"""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.array_types import Flags
from server.decoding.candidates import Place, judged, may_follow
from server.decoding.language import Language
from server.decoding.logits import Row, Tokens, highest
from server.decoding.parameters import Parameters

FIRST_LOOK = 64
"""The model's best tokens, judged together where the first draw is not viable."""

SECOND_LOOK = 1024
"""The best viable tokens, ordered where the first look doesn't settle which ones top-p keeps."""

GROUP = 64
"""Weights that are summed up together before one of them is looked for."""

DRAWS = 7

Weights: TypeAlias = NDArray[np.float64]
Noise: TypeAlias = tuple[float, ...]


class Draw(NamedTuple):
    """A viable token, or a stop id where the text may end; and whether the budget kept out what was drawn first.

    None where nothing is viable: a complete text, and a model without end tokens.
    """

    token: int | None
    forced: bool


class _Best:
    """The best tokens, and their logits over the temperature less the highest, [k].

    A token weighs the exponential of that. All other tokens together weigh `beyond`, which takes a sum over the whole
    row; `most` is a bound on it that takes none.
    """

    def __init__(self, row: Row, temperature: float) -> None:
        self.tokens, values = row.highest(FIRST_LOOK)
        self.scaled: Weights = (values.astype(np.float64) - values[0]) / temperature
        self.weights: Weights = np.exp(self.scaled)
        self.most = (row.size - len(self.tokens)) * float(self.weights[-1])
        self._row = row
        self._temperature = temperature

    @cached_property
    def beyond(self) -> float:
        return max(0.0, self._row.mass(self._temperature) - float(self.weights.sum())) if self.most else 0.0


def noise(seed: int, position: int) -> Noise:
    """`DRAWS` numbers, independent and uniform in [0, 1): a function of the seed and the place in the answer alone.

    So a step that is computed again, after an interruption or on another machine, draws the same.
    """
    digest = blake2b(f"{seed} {position}".encode(), digest_size=8 * DRAWS).digest()
    return tuple((int.from_bytes(digest[at : at + 8], "little") >> 11) * 2.0**-53 for at in range(0, 8 * DRAWS, 8))


def draw(language: Language, place: Place, row: Row, parameters: Parameters, chance: Noise) -> Draw:
    """One token at the parameters' temperature."""
    if parameters.top_k > 0 or parameters.top_p < 1.0:
        return _truncated(language, place, row, parameters, chance[0])
    best = _Best(row, parameters.temperature)
    token = _first(row, best, parameters, chance)
    if may_follow(language, place, token):
        return Draw(token, False)
    alive, viable = _judged(language, place, np.append(best.tokens, np.int32(token)))
    forced = bool(alive[-1])
    for kept, number in ((alive[:-1], chance[2]), (viable[:-1], chance[3])):
        at = _reached(np.where(kept, best.weights, 0.0), best.beyond, number)
        if at is None:
            return _beyond(language, place, row, best, parameters, forced, chance[4:])
        token, forced = int(best.tokens[at]), forced or not viable[at]
        if viable[at]:
            break
    return Draw(token, forced)


def _first(row: Row, best: _Best, parameters: Parameters, chance: Noise) -> int:
    """A draw from all tokens. Mostly the bound on those beyond the best tells as much as their sum."""
    at, most = (_reached(best.weights, beyond, chance[0]) for beyond in (0.0, best.most))
    if at != most:
        at = _reached(best.weights, best.beyond, chance[0])
    if at is not None:
        return int(best.tokens[at])
    weights = np.exp((row.whole() - row.whole().max()) / np.float32(parameters.temperature))
    weights[best.tokens] = 0.0
    at = _reached_of_many(weights, 0.0, chance[1])
    return int(best.tokens[0]) if at is None else at  # None: all of it was a rounding error


def _reached(weights: Weights, beyond: float, number: float) -> int | None:
    """The index that a number in [0, 1) falls to, each having its weight; None in the share of what is beyond."""
    reached = np.cumsum(weights)
    at = int(np.searchsorted(reached, number * (reached[-1] + beyond), side="right")) if len(weights) else 0
    return at if at < len(weights) else None


def _reached_of_many(weights: NDArray[np.float32], beyond: float, number: float) -> int | None:
    """Index that a number falls to, as `_reached` finds it; the group of weights is found first."""
    starts = np.arange(0, len(weights), GROUP)
    groups = np.add.reduceat(weights, starts).astype(np.float64)
    group = _reached(groups, beyond, number)
    if group is None:
        return None
    start = group * GROUP
    [inside] = np.nonzero(weights[start : start + GROUP])
    within = np.cumsum(weights[start + inside], dtype=np.float64)
    sought = number * (float(groups.sum()) + beyond) - float(groups[:group].sum())
    at = int(np.searchsorted(within, sought, side="right"))
    return start + int(inside[min(at, len(inside) - 1)])  # sums of groups and of their parts round differently


def _judged(language: Language, place: Place, tokens: Tokens) -> tuple[Flags, Flags]:
    """Flags of the tokens that the grammar allows, and of those that are viable."""
    after, distances = judged(language, place, tokens)
    viable = distances < place.tokens_left
    if language.accepts(place.configuration):
        viable |= np.isin(tokens, language.vocabulary.stop_ids)
    return (after >= 0) | viable, viable


def _beyond(
    language: Language, place: Place, row: Row, best: _Best, parameters: Parameters, forced: bool, chance: Noise
) -> Draw:
    """The draw is none of the best: it is viable by the share of viable tokens there, else it is drawn anew."""
    viable = language.mask(place.configuration, place.tokens_left)
    if not viable.any():
        return Draw(None, False)
    logits = row.whole() / np.float32(parameters.temperature)
    weights = np.where(viable, np.exp(logits - logits.max()), np.float32(0.0))
    weights[best.tokens] = 0.0
    at = _reached_of_many(weights, max(0.0, best.beyond - float(weights.sum())), chance[0])
    if at is not None:
        return Draw(at, forced)
    for kept, number in ((language.mask(place.configuration), chance[1]), (viable, chance[2])):
        allowed = np.flatnonzero(kept)
        at = _reached_of_many(np.exp(logits[allowed] - logits[allowed].max()), 0.0, number)
        token = int(allowed[at or 0])
        if viable[token]:
            break
        forced = True
    return Draw(token, forced)


def _truncated(language: Language, place: Place, row: Row, parameters: Parameters, number: float) -> Draw:
    """Mostly the best tokens settle which ones are kept. What the budget keeps out is drawn with the same number."""
    best = _Best(row, parameters.temperature)
    alive, viable = _judged(language, place, best.tokens)
    at = _of_kept(best.scaled[viable], 0.0, best.most, parameters, number)
    if at is None:
        at = _of_kept(best.scaled[viable], 0.0, best.beyond, parameters, number)
    if at is not None:
        first = _of_kept(best.scaled[alive], 0.0, 0.0, parameters, number)
        return Draw(int(best.tokens[viable][at]), first is not None and not viable[alive][first])
    viable = language.mask(place.configuration, place.tokens_left)
    if not viable.any():
        return Draw(None, False)
    token, first = (
        _of_all(np.flatnonzero(allowed), row, parameters, number)
        for allowed in (viable, language.mask(place.configuration))
    )
    return Draw(token, not viable[first])


def _of_all(allowed: NDArray[np.int64], row: Row, parameters: Parameters, number: float) -> int:
    """The token that a number falls to among those that are kept of all that are allowed, at least one."""
    logits = row.whole()[allowed]
    scaled = (logits.astype(np.float64) - logits.max()) / parameters.temperature
    total = float(np.exp(scaled).sum())
    at, order = None, np.empty(0, np.int32)
    for count in (parameters.top_k or SECOND_LOOK, len(allowed)):
        order = highest(logits, count)
        others = max(0.0, total - float(np.exp(scaled[order]).sum())) if len(order) < len(allowed) else 0.0
        at = _of_kept(scaled[order], others, 0.0, parameters, number)
        if at is not None:
            break
    assert at is not None, "nothing is unknown of all tokens"
    return int(allowed[order[at]])


def _of_kept(scaled: Weights, others: float, unknown: float, parameters: Parameters, number: float) -> int | None:
    """Token among the best allowed ones that a number falls to; None where these don't tell which are kept.

    Other allowed tokens weigh `others`, or up to `unknown` more.
    """
    if not len(scaled):
        return None
    weights = np.exp(scaled - scaled[0])  # the first weighs 1, however unlikely it is
    size = float(np.exp(min(-scaled[0], 700.0)))
    kept = _kept(weights, others * size, unknown * size, parameters)
    return None if kept is None else _reached(weights[:kept], 0.0, number)


def _kept(weights: Weights, others: float, unknown: float, parameters: Parameters) -> int | None:
    """Number of the best tokens that truncation keeps, at least one: of the best `top_k`, those before `top_p` is
    full.
    """
    if parameters.top_k and len(weights) >= parameters.top_k:
        weights, others, unknown = weights[: parameters.top_k], 0.0, 0.0
    complete = others == unknown == 0.0
    if (parameters.top_k or parameters.top_p >= 1.0) and not complete:
        return None
    if parameters.top_p >= 1.0:
        return len(weights)
    reached = np.cumsum(weights)
    before, total = reached - weights, reached[-1] + others
    least, most = (max(1, int((before < parameters.top_p * whole).sum())) for whole in (total, total + unknown))
    return least if least == most and (complete or most < len(weights)) else None
