"""Drawing a token exactly from the model's distribution, restricted to what is viable.

A draw from the whole distribution, repeated until it is viable, is a draw from the viable part of it. So the first
draw is tried alone: mostly it will do. If not, the model's best tokens are judged together, and what is known of them
is left out of the next draws: tokens that the grammar refuses first, then those that only the budget does. A draw among
tokens that nobody has looked at needs the full set of viable ones. Truncation counts viable tokens only, and mostly the
best tokens settle it.

All chance is in the numbers that are given: the same ones yield the same token. What a draw would be without a budget
is always drawn first, and it stands where it is viable; so it is known whether the budget changed it.
"""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.loops.array_types import Flags
from server.decoding.candidates import Place, judged, may_follow
from server.decoding.language import Language
from server.decoding.logits import Row, Tokens, highest
from server.decoding.parameters import UNLIMITED, Parameters

FIRST_LOOK = 64
"""The model's best tokens, judged together where the first draw is not viable."""

SECOND_LOOK = 1024
"""The best viable tokens, ordered where the first look doesn't settle which ones top-p keeps."""

GROUP = 64
"""Weights that are summed up together before one of them is looked for."""

MASS_ERROR = 2e-6
"""Error of a row's mass, of itself, at most: see `sum_of_exponentials`."""

LEAST_TEMPERATURE = 1e-30
"""Temperature below which nothing changes any more, and a float32 would have no room for logits over it."""

DRAWS = 7

Weights: TypeAlias = NDArray[np.float64]
Noise: TypeAlias = tuple[float, ...]


class Draw(NamedTuple):
    """A viable token, or a stop id where the text may end; and whether there would be another one without a budget.

    None where nothing is viable: a complete text, and a model without end tokens.
    """

    token: int | None
    forced: bool


class _Kept(NamedTuple):
    """Tokens that truncation leaves, best first, and what they weigh."""

    tokens: NDArray[np.integer]
    weights: Weights


class _Best:
    """The best tokens, and their logits over the temperature less the highest, [k].

    A token weighs the exponential of that. All other tokens together weigh `beyond`, a difference of sums, of which one
    is over the whole row: it may be off by all that viable tokens weigh beside what the model is sure of. They never
    weigh more than `bound`, and `most` is a bound that takes no sum. What is drawn by a bound and isn't there is drawn
    anew.
    """

    def __init__(self, row: Row, temperature: float) -> None:
        self.tokens, values = row.highest(FIRST_LOOK)
        self.scaled: Weights = (values.astype(np.float64) - values[0]) / temperature
        self.weights: Weights = np.exp(self.scaled)
        self.others = row.size - len(self.tokens)
        self.most = self.others * float(self.weights[-1])
        self._row = row
        self._temperature = temperature

    @cached_property
    def _mass(self) -> float:
        return self._row.mass(self._temperature)

    @property
    def beyond(self) -> float:
        return max(0.0, self._mass - float(self.weights.sum())) if self.most else 0.0

    @property
    def bound(self) -> float:
        return self.beyond + MASS_ERROR * self._mass if self.others else 0.0


def noise(seed: int, position: int) -> Noise:
    """`DRAWS` numbers, independent and uniform in [0, 1): a function of the seed and the place in the answer alone.

    So a step that is computed again, after an interruption or on another machine, draws the same.
    """
    digest = blake2b(f"{seed} {position}".encode(), digest_size=8 * DRAWS).digest()
    return tuple((int.from_bytes(digest[at : at + 8], "little") >> 11) * 2.0**-53 for at in range(0, 8 * DRAWS, 8))


def draw(language: Language, place: Place, row: Row, parameters: Parameters, chance: Noise) -> Draw:
    """One token at the parameters' temperature."""
    if parameters.truncates:
        return _truncated(language, place, row, parameters, chance)
    best = _Best(row, _temperature(parameters))
    token = _first(row, best, parameters, chance)
    if may_follow(language, place, token):
        return Draw(token, False)
    free, viable = _judged(language, place, np.append(best.tokens, np.int32(token)))
    if free[-1]:
        return _other(language, place, row, best, viable[:-1], parameters, chance[3:])
    at = _reached(np.where(free[:-1], best.weights, 0.0), best.bound, chance[2])
    if at is None:
        return _beyond(language, place, row, best, parameters, chance[4:])
    if viable[at]:
        return Draw(int(best.tokens[at]), False)
    return _other(language, place, row, best, viable[:-1], parameters, chance[3:])


def _other(
    language: Language, place: Place, row: Row, best: _Best, viable: Flags, parameters: Parameters, chance: Noise
) -> Draw:
    """The draw that the budget leaves where it keeps out what was drawn without it."""
    at = _reached(np.where(viable, best.weights, 0.0), best.bound, chance[0])
    if at is not None:
        return Draw(int(best.tokens[at]), True)
    return _beyond(language, place, row, best, parameters, chance[1:])._replace(forced=True)


def _first(row: Row, best: _Best, parameters: Parameters, chance: Noise) -> int:
    """A draw from all tokens. Mostly the bound on those beyond the best tells as much as their sum."""
    at, most = (_reached(best.weights, beyond, chance[0]) for beyond in (0.0, best.most))
    if at != most:
        at = _reached(best.weights, best.beyond, chance[0])
    if at is not None:
        return int(best.tokens[at])
    weights = np.exp((row.whole() - row.whole().max()) / np.float32(_temperature(parameters)))
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
    """Flags of the tokens that are viable without a budget, and of those that are."""
    after, distances = judged(language, place, tokens)
    viable = distances < place.tokens_left
    if language.accepts(place.configuration):
        viable |= np.isin(tokens, language.vocabulary.stop_ids)
    free = viable.copy()
    unsure = (after >= 0) & ~viable
    if unsure.any():
        free[unsure] = language.distances_behind(place.configuration, after[unsure], UNLIMITED - 1) < UNLIMITED
    return free, viable


def _beyond(language: Language, place: Place, row: Row, best: _Best, parameters: Parameters, chance: Noise) -> Draw:
    """The draw is none of the best: it is viable by the share of viable tokens there, else it is drawn anew."""
    free = language.mask(place.configuration, UNLIMITED)
    viable = language.mask(place.configuration, place.tokens_left)
    if not viable.any():
        return Draw(None, False)
    temperature = _temperature(parameters)
    logits = (row.whole() - row.whole().max()) / np.float32(temperature)
    weights = np.where(free, np.exp(logits), np.float32(0.0))
    weights[best.tokens] = 0.0
    at = _reached_of_many(weights, max(0.0, best.bound - float(weights.sum())), chance[0])
    if at is None:
        at = _among(free, row, temperature, chance[1])
    return Draw(at, False) if viable[at] else Draw(_among(viable, row, temperature, chance[2]), True)


def _among(kept: Flags, row: Row, temperature: float, number: float) -> int:
    """The token that a number falls to of these, at least one."""
    tokens = np.flatnonzero(kept)
    logits = row.whole()[tokens].astype(np.float64)
    return int(tokens[_reached_of_many(np.exp((logits - logits.max()) / temperature), 0.0, number) or 0])


def _temperature(parameters: Parameters) -> float:
    return max(parameters.temperature, LEAST_TEMPERATURE)


def _truncated(language: Language, place: Place, row: Row, parameters: Parameters, chance: Noise) -> Draw:
    """Mostly the best tokens settle which ones are kept, with the budget and without."""
    best = _Best(row, _temperature(parameters))
    free, viable = (_kept_of_best(best, flags, parameters) for flags in _judged(language, place, best.tokens))
    if free is None or viable is None:
        masks = (language.mask(place.configuration, tokens) for tokens in (UNLIMITED, place.tokens_left))
        within = (free, viable)
        free, viable = (kept or _kept_of_all(mask, row, parameters) for kept, mask in zip(within, masks, strict=True))
    if free is None or viable is None:
        return Draw(None, False)
    first = int(free.tokens[_reached(free.weights, 0.0, chance[0]) or 0])
    if np.array_equal(free.tokens, viable.tokens):
        return Draw(first, False)
    return _coupled(first, free, viable, row.size, chance[1:])


def _coupled(first: int, free: _Kept, viable: _Kept, size: int, chance: Noise) -> Draw:
    """A draw of the viable ones that is the `first` one, drawn without a budget, as often as that can be.

    It stays with the ratio of its two probabilities; else what is left of the viable ones' is drawn from.
    """
    without, within = np.zeros(size), np.zeros(size)
    without[free.tokens] = free.weights / free.weights.sum()
    within[viable.tokens] = viable.weights / viable.weights.sum()
    if chance[0] * without[first] < within[first]:
        return Draw(first, False)
    rest = np.maximum(within - without, 0.0)[viable.tokens]
    at = _reached(rest, 0.0, chance[1]) if rest.any() else 0  # none: all of it was a rounding error
    return Draw(int(viable.tokens[at or 0]), True)


def _kept_of_best(best: _Best, flags: Flags, parameters: Parameters) -> _Kept | None:
    """Tokens that are kept, with these flags of the best; None where the best don't tell."""
    tokens, scaled = best.tokens[flags], best.scaled[flags]
    if not len(scaled):
        return None
    weights = np.exp(scaled - scaled[0])  # the first weighs 1, however unlikely it is
    most = best.others * float(np.exp(best.scaled[-1] - scaled[0]))
    count = _kept(weights, 0.0, most, parameters)
    if count is None:
        count = _kept(weights, 0.0, min(most, best.bound * float(np.exp(min(-scaled[0], 700.0)))), parameters)
    return None if count is None else _Kept(tokens[:count], weights[:count])


def _kept_of_all(mask: Flags, row: Row, parameters: Parameters) -> _Kept | None:
    """Tokens that are kept of all that are allowed; None if there are none."""
    allowed = np.flatnonzero(mask)
    if not len(allowed):
        return None
    logits = row.whole()[allowed]
    scaled = (logits.astype(np.float64) - logits.max()) / _temperature(parameters)
    total = float(np.exp(scaled).sum())
    for most in (parameters.top_k or SECOND_LOOK, len(allowed)):
        order = highest(logits, most)
        others = max(0.0, total - float(np.exp(scaled[order]).sum())) if len(order) < len(allowed) else 0.0
        count = _kept(np.exp(scaled[order]), others, 0.0, parameters)
        if count is not None:
            return _Kept(allowed[order[:count]], np.exp(scaled[order[:count]]))
    raise AssertionError("nothing is unknown of all tokens")


def _kept(weights: Weights, others: float, unknown: float, parameters: Parameters) -> int | None:
    """Number of the best tokens that truncation keeps, at least one: of the best `top_k`, those before `top_p` is
    full, and of these, those that weigh `min_p` at least. None where these don't tell.

    The first weighs 1; other allowed tokens weigh `others`, or up to `unknown` more.
    """
    if parameters.top_k and len(weights) >= parameters.top_k:
        weights, others, unknown = weights[: parameters.top_k], 0.0, 0.0
    complete = others == unknown == 0.0
    likely = max(1, int((weights >= parameters.min_p).sum()))
    cut = complete or likely < len(weights)  # all that are likely enough are known
    if parameters.top_p >= 1.0:
        return likely if cut else None
    if parameters.top_k and not complete:
        return None
    reached = np.cumsum(weights)
    before, total = reached - weights, reached[-1] + others
    least, most = (max(1, int((before < parameters.top_p * whole).sum())) for whole in (total, total + unknown))
    if cut and likely <= least:
        return likely
    return min(likely, least) if least == most and (complete or most < len(weights)) else None
