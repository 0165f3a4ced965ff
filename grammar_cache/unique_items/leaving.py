"""Distances where the item under way may still become one that was there before.

They are those of a way that leaves all the earlier ones: one more than the additive distance behind the nearest of a
few tokens that do so at once; where none does, one more than behind a token that goes on along them; where none of
those comes to an end either, of all tokens. Each is reached by a token behind which one token less is needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from grammar_cache.configurations.interner import DEAD
from grammar_cache.distances.additive import INFINITE
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.loops.array_types import Ints
from grammar_cache.unique_items.item_tokens import ItemTokens
from grammar_cache.unique_items.places import ENDS, GAPS, PLACE_BYTES, Place
from grammar_cache.unique_items.token_places import TokenPlaces

_BRACKET = ord("]")


class Leaving:
    """Distances of places inside of arrays, found once each."""

    def __init__(self, compiled: CompiledGrammar, places: TokenPlaces, tokens: ItemTokens) -> None:
        self._compiled = compiled
        self._places = places
        self._tokens = tokens
        self._known: dict[Place, tuple[int, int]] = {}
        self._near: dict[tuple[int, frozenset[int]], tuple[int, int]] = {}

    def distance(self, place: Place | int) -> int:
        """An upper bound on the tokens still needed; INFINITE if no completion is known."""
        if isinstance(place, Place) and place.ahead:
            return self._found(place)[0]
        return self._additive(place.configuration if isinstance(place, Place) else place)

    def token(self, place: Place) -> int:
        """The next token of such a completion, where an item may still become an earlier one and one is known."""
        return self._found(place)[1]

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        return PLACE_BYTES * (len(self._known) + len(self._near))

    def _found(self, place: Place) -> tuple[int, int]:
        """Distance, and the next token. Items get longer along each way, so there is no way round."""
        todo = [place]
        while todo:
            at = todo[-1]
            if at in self._known:
                todo.pop()
                continue
            best = self._at_once(at)
            if best[0] >= INFINITE:
                ways = self._ways(at)
                missing = [after for _, after in ways if after not in self._known]
                if missing:
                    todo += missing
                    continue
                best = min(((1 + self._known[after][0], token) for token, after in ways), default=best)
            self._known[at] = best if best[0] < INFINITE else self._by_any(at)
        return self._known[place]

    def _at_once(self, place: Place) -> tuple[int, int]:
        """The nearest of the tokens of one byte and the proposals that begin as no earlier item goes on."""
        heads = frozenset(rest[0] for rest in place.ahead if rest)
        if b"" in place.ahead:
            heads |= ENDS
        if not place.text:
            heads |= {_BRACKET, *GAPS}
        key = place.configuration, heads
        if key not in self._near:
            found = np.union1d(self._compiled.vocabulary.single_bytes, self._compiled.proposals(place.configuration))
            first = self._first_bytes(found)
            self._near[key] = self._nearest(place.configuration, found[~np.isin(first, list(heads))].astype(np.int32))
        return self._near[key]

    def _nearest(self, configuration: int, tokens: Ints) -> tuple[int, int]:
        after = self._compiled.consume_batch(np.array([configuration], np.int32), tokens[None, :])[0]
        tokens, after = tokens[after != DEAD], after[after != DEAD]
        if not len(tokens):
            return INFINITE, -1
        distances = self._compiled.additives(after)
        best = int(distances.argmin())
        return min(1 + int(distances[best]), INFINITE), int(tokens[best])

    def _first_bytes(self, tokens: Ints) -> Ints:
        vocabulary = self._compiled.vocabulary
        return vocabulary.data[vocabulary.data_offsets[tokens]].astype(np.int32)

    def _ways(self, place: Place) -> list[tuple[int, Place]]:
        """Tokens that go on along earlier items, and the places behind them: of one byte, and the longest that go along
        all that begin with it.
        """
        strings: set[int] = set()
        for rests in _by_first_byte(place.ahead):
            inside = list(self._tokens.inside(_shared(rests), gaps=False))
            if inside and self._compiled.vocabulary.lengths[inside[0]] == 1:
                strings |= {inside[0], inside[-1]}
            else:
                strings.update(n for rest in rests for n in self._tokens.inside(rest, gaps=not place.text))
        found = []
        for token in self._tokens.first_ids(sorted(strings)):
            after = self._places.behind(place, token)
            if isinstance(after, Place) and after.ahead and len(after.text) > len(place.text):
                found.append((token, after))
        return found

    def _by_any(self, place: Place) -> tuple[int, int]:
        """The nearest of all tokens that leave the earlier items at once."""
        best = INFINITE, -1
        for token in np.flatnonzero(self._compiled.mask(place.configuration)).tolist():
            after = self._places.behind(place, token)
            if isinstance(after, Place) and after.ahead:
                continue
            if after != DEAD and (distance := self.distance(after)) < INFINITE:
                best = min(best, (1 + distance, token))
        return best if best[0] < INFINITE else (INFINITE, -1)

    def _additive(self, configuration: int) -> int:
        return int(self._compiled.additives(np.array([configuration], np.int32))[0])


def _by_first_byte(texts: Iterable[bytes]) -> Iterable[list[bytes]]:
    """Texts that begin with one byte, for each such byte; the empty text left out."""
    found: defaultdict[int, list[bytes]] = defaultdict(list)
    for text in texts:
        if text:
            found[text[0]].append(text)
    return found.values()


def _shared(texts: list[bytes]) -> bytes:
    """The text that all of some texts begin with."""
    first, last = min(texts), max(texts)
    size = next((place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))
    return first[:size]
