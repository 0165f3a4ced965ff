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

from server.decoding.candidates import Place, judged, may_follow
from server.decoding.language import Language
from server.decoding.logits import Row, Tokens, highest
from server.decoding.parameters import Parameters

FIRST_LOOK = 64
"""The model's best tokens, judged together where the first draw is not viable."""

SECOND_LOOK = 1024
"""The best viable tokens, ordered where the first look doesn't settle which ones top-p keeps."""

DRAWS = 6

Flags: TypeAlias = NDArray[np.bool_]
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
        if not self.most:
            return 0.0
        return max(0.0, self._row.mass(self._temperature) - float(self.weights.sum()))


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
    at = _first(best, chance[0])
    if at is not None and may_follow(language, place, int(best.tokens[at])):
        return Draw(int(best.tokens[at]), False)
    alive, viable = _judged(language, place, best.tokens)
    forced = at is not None and bool(alive[at])
    for kept, number in ((alive, chance[1]), (viable, chance[2])):
        if at is None:
            break
        at = _reached(np.where(kept, best.weights, 0.0), best.beyond, number)
        if at is not None and viable[at]:
            return Draw(int(best.tokens[at]), forced)
        forced |= at is not None
    return _beyond(language, place, row, best, parameters, forced, chance[3:])


def _first(best: _Best, number: float) -> int | None:
    """As `_reached`, of all tokens: mostly the bound tells as much as the sum."""
    least, most = (_reached(best.weights, beyond, number) for beyond in (0.0, best.most))
    return least if least == most else _reached(best.weights, best.beyond, number)


def _reached(weights: Weights, beyond: float, number: float) -> int | None:
    """The index that a number in [0, 1) falls to, each having its weight; None in the share of what is beyond."""
    reached = np.cumsum(weights)
    at = int(np.searchsorted(reached, number * (reached[-1] + beyond), side="right")) if len(weights) else 0
    return at if at < len(weights) else None


def _judged(language: Language, place: Place, tokens: Tokens) -> tuple[Flags, Flags]:
    """Which tokens the grammar allows, and which are viable."""
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
    logits = row.whole().astype(np.float64) / parameters.temperature
    weights = np.where(viable, np.exp(logits - logits.max()), 0.0)
    weights[best.tokens] = 0.0
    at = _reached(weights, best.beyond - float(weights.sum()), chance[0])
    if at is not None:
        return Draw(at, forced)
    alive = language.mask(place.configuration)
    for kept, number in ((alive, chance[1]), (viable, chance[2])):
        at = _reached(np.exp(np.where(kept, logits - logits[kept].max(), -np.inf)), 0.0, number)
        if at is not None and viable[at]:
            break
        forced = True
    return Draw(at, forced)


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
    at, order = None, np.arange(0)
    for count in (parameters.top_k or SECOND_LOOK, len(allowed)):
        order = highest(logits, count)
        others = max(0.0, total - float(np.exp(scaled[order]).sum())) if len(order) < len(allowed) else 0.0
        at = _of_kept(scaled[order], others, 0.0, parameters, number)
        if at is not None:
            break
    assert at is not None, "nothing is unknown of all tokens"
    return int(allowed[order[at]])


def _of_kept(scaled: Weights, others: float, unknown: float, parameters: Parameters, number: float) -> int | None:
    """Which of the best allowed tokens a number falls to; None where these don't tell which are kept.

    Other allowed tokens weigh `others`, or up to `unknown` more.
    """
    if not len(scaled):
        return None
    weights = np.exp(scaled - scaled[0])  # the first weighs 1, however unlikely it is
    size = float(np.exp(min(-scaled[0], 700.0)))
    kept = _kept(weights, others * size, unknown * size, parameters)
    return None if kept is None else _reached(weights[:kept], 0.0, number)


def _kept(weights: Weights, others: float, unknown: float, parameters: Parameters) -> int | None:
    """How many of the best tokens truncation keeps, at least one: of the best `top_k`, those before `top_p` is full."""
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
