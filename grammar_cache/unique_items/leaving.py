"""Distances where the item under way may still become one that was there before.

They are those of a way that leaves all the earlier ones: one more than the additive distance behind the nearest of a
few tokens that do so at once; where none does, one more than behind the first token along them that comes to an end;
where none does either, of all tokens with bytes that are no tokens themselves. Each is reached by a token behind which
one token less is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from grammar_cache.configurations.interner import DEAD
from grammar_cache.distances.additive import INFINITE
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.unique_items.item_place import ItemPlace
from grammar_cache.unique_items.item_sets import EMPTY
from grammar_cache.unique_items.near_tokens import NearTokens, going_on
from grammar_cache.unique_items.strings_along import StringsAlong
from grammar_cache.unique_items.text_counts import TextCounts, UsedUp
from grammar_cache.unique_items.token_places import TokenPlaces

_COMMA = ord(",")
_NO_BYTES = frozenset[int]()

FUEL = 500
"""Places along earlier items that one distance may take: further ways are taken for none."""

FOUND_BYTES = 300
"""Bytes of a distance, with what it holds, about."""

_Key: TypeAlias = tuple[int, tuple[tuple[int, ...], ...]]
"""Facts that such a distance depends on: see `Leaving._key`."""


class _Found(NamedTuple):
    """Distance, the next token, and the places that were looked at: what is known is charged as if it were new. `far`:
    bytes along an earlier item before what else is taken.
    """

    distance: int
    token: int
    cost: int
    far: int = 0


@dataclass(slots=True)
class _Search:
    """Search under way from a place. `waiting`: the way that is looked at, and whether it was known before."""

    place: ItemPlace
    ways: Iterator[tuple[int, ItemPlace]]
    cost: int = 1
    waiting: tuple[int, ItemPlace] | None = None
    was_known: bool = True


class Leaving:
    """Distances of places inside of arrays, found once each."""

    def __init__(
        self,
        compiled: CompiledGrammar,
        places: TokenPlaces,
        along: StringsAlong,
        near: NearTokens,
        counts: TextCounts,
    ) -> None:
        self._compiled = compiled
        self._along_strings = along
        self._near = near
        self._used_up = UsedUp(counts, places.places)
        self._places = places
        self._tokens = along.tokens
        single = compiled.vocabulary.single_bytes.tolist()
        self._single = {(compiled.vocabulary.spelling[token] or b"")[0]: token for token in single}
        self._known: dict[_Key, _Found] = {}
        self._passing: dict[_Key, _Found] = {}

    def distance(self, place: ItemPlace | int) -> int:
        """An upper bound on the tokens still needed; INFINITE if no completion is known."""
        if isinstance(place, ItemPlace) and place.may_repeat:
            return self._found(place).distance
        return self._additive(place.configuration if isinstance(place, ItemPlace) else place)

    def fits_soon(self, place: ItemPlace, tokens: int, size: int, heads: frozenset[int]) -> bool:
        """Whether tokens of one byte along the first of the earlier items, and one that leaves all of them, make the
        distance at most so much: before the innermost item now has more than so many bytes, and there by none of some
        first bytes.
        """
        taken, level = 0, len(place.items) - 1
        while place.may_repeat and len(place.items) > level:
            read = self._places.places.texts.size(place.items[level].text)
            if read > size or (taken and taken >= FUEL):
                return False
            best, _ = self._at_once(place, heads if read == size else _NO_BYTES)
            if best < INFINITE:
                return taken + best <= tokens
            after = self._along_first(place)
            if after is None:
                return False
            place, taken = after, taken + 1
        return False

    def is_used_up(self, place: ItemPlace) -> bool:
        """Whether all that the item under way may become was there before, so that no way leaves it."""
        return self._used_up.is_so(place.item)

    def heads(self, place: ItemPlace) -> frozenset[int]:
        """Bytes with which an item may still become an earlier one, or end as one."""
        sets = self._places.places.sets
        ways = [going_on(sets.heads(ahead), place.lexical, ends=sets.ends(ahead)) for ahead in place.aheads]
        return frozenset[int]().union(*ways)

    def token(self, place: ItemPlace) -> int:
        """The next token of such a completion, where an item may still become an earlier one and one is known."""
        return self._found(place).token

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        found = FOUND_BYTES * (len(self._known) + len(self._passing))
        return found + self._used_up.size_bytes

    def _found(self, place: ItemPlace) -> _Found:
        """Distance and next token. Items get longer along each way, so there is no way round."""
        found = self._told(place)
        if found is None:
            searches, spent = [_Search(place, self._ways(place))], 1
            while searches and spent <= FUEL:
                search = searches[-1]
                search.waiting = search.waiting or next(search.ways, None)
                if search.waiting is None:
                    spent += self._ended(search)
                    searches.pop()
                elif (known := self._told(search.waiting[1])) is not None:
                    search.cost += known.cost
                    spent += known.cost if search.was_known else 0
                    if known.distance < INFINITE and spent <= FUEL:
                        self._note(search.place, self._reached(search, search.waiting[0], known))
                        searches.pop()
                    search.waiting, search.was_known = None, True
                else:
                    search.was_known, spent = False, spent + 1
                    searches.append(_Search(search.waiting[1], self._ways(search.waiting[1])))
            if spent > FUEL:
                return self._note(place, _Found(*self._by_others(place)[0], FUEL + 1))
            found = self._told(place)
            assert found is not None, "its search is over"
        return found

    def _told(self, place: ItemPlace) -> _Found | None:
        """Gives what is told without a search: where an item that others have to follow has ended, where a token leaves
        the earlier items at once, where they are used up, and by a search that is over.
        """
        if place.owes and self._places.places.at_end(place) and not self._places.places.is_repeated(place):
            return _Found(0, -1, 1)
        best, token = self._at_once(place)
        if best < INFINITE:
            return _Found(best, token, 1)
        key = self._key(place)
        known = self._known.get(key) or self._passing.get(key)
        if known is None and self.is_used_up(place):
            known = self._note(place, _Found(INFINITE, -1, 1))
        return known

    def _note(self, place: ItemPlace, found: _Found) -> _Found:
        """Notes the distance of a place, for as long as the place may come again."""
        passes = any(item.earlier < 0 or item.ahead < 0 for item in place.items)
        known = self._passing if passes else self._known
        known[self._key(place)] = found
        return found

    def forget_passing(self) -> None:
        """Forgets places behind commas that were only looked at."""
        self._passing.clear()
        self._places.places.sets.forget_pairs()

    def _reached(self, search: _Search, token: int, behind: _Found) -> _Found:
        """Gives what a way that comes to an end takes: by that token, or by a longer one on it.

        It isn't plain which way that is where two items may still become earlier ones.
        """
        found = _Found(1 + behind.distance, token, search.cost)
        if len(search.place.aheads) > 1:
            return found
        spelled = self._compiled.vocabulary.spelling[token] or b""
        shared = self._places.places.sets.shared(search.place.aheads[0], spelled) if len(spelled) == 1 else b""
        if not shared:
            return found
        found = found._replace(far=1 + behind.far)
        string = self._tokens.longest(shared[: found.far])
        if string is not None:
            [longest] = self._tokens.first_ids([string]).tolist()
            after = self._places.behind(search.place, longest)
            known = self._told(after) if isinstance(after, ItemPlace) else None
            if known is not None and 1 + known.distance < found.distance:
                found = found._replace(distance=1 + known.distance, token=longest)
        return found

    def _ended(self, search: _Search) -> int:
        """Notes that no token along the earlier items comes to an end. Gives what that has cost further."""
        found, further = self._by_others(search.place)
        self._note(search.place, _Found(*found, search.cost + further))
        return further

    def _at_once(self, place: ItemPlace, others: frozenset[int] = _NO_BYTES) -> tuple[int, int]:
        """The nearest of the tokens that leave the earlier items at once, and not by others of some bytes."""
        return self._near.nearest(place.configuration, self.heads(place) | others)

    def _ways(self, place: ItemPlace) -> Iterator[tuple[int, ItemPlace]]:
        """Tokens of one byte that go on along earlier items, or all that do, and the places behind them."""
        for token in dict.fromkeys(self._along(place)):
            after = self._places.behind(place, token)
            if isinstance(after, ItemPlace) and after.may_repeat and self._read(after) > self._read(place):
                yield token, after

    def _along(self, place: ItemPlace) -> Iterator[int]:
        sets = self._places.places.sets
        for ahead in place.aheads:
            for head in sets.heads(ahead):
                single = self._single.get(head)
                if single is None:
                    strings = self._along_strings.of(ahead, place.lexical)
                    yield from sorted(self._tokens.first_ids(strings).tolist())
                    break
                yield single
        if len(place.items) > _along_items(place) and _COMMA in self._single and self._places.places.at_end(place):
            yield self._single[_COMMA]  # the outer item may differ by a further inner one

    def _along_first(self, place: ItemPlace) -> ItemPlace | None:
        """The place behind the first byte of the first of the earlier items that are ahead."""
        heads = self._places.places.sets.heads(place.aheads[0])
        after = self._places.behind(place, self._single.get(heads[0], -1)) if heads else DEAD
        return after if isinstance(after, ItemPlace) and self._read(after) > self._read(place) else None

    def _read(self, place: ItemPlace) -> int:
        """Bytes of the outermost item so far."""
        return self._places.places.texts.size(place.items[0].text)

    def _by_others(self, place: ItemPlace) -> tuple[tuple[int, int], int]:
        """The nearest of those tokens that leave the earlier items at once and have bytes that no token is, and how
        many were looked at. What leaves them by other bytes does so by tokens of one byte.
        """
        best = INFINITE, -1
        others = self._tokens.unspelled
        if not len(others):
            return best, 0
        over = [] if place.owes else [crossing.tokens for crossing in self._places.crossings(place)]
        here = np.concatenate([np.flatnonzero(self._compiled.mask(place.configuration)), *over])
        looked_at = np.intersect1d(here, others).tolist()
        for token in looked_at:
            after = self._places.behind(place, token)
            if after == DEAD or (isinstance(after, ItemPlace) and after.may_repeat):
                continue
            if (distance := self.distance(after)) < INFINITE:
                best = min(best, (1 + distance, token))
        return best, len(looked_at)

    def _key(self, place: ItemPlace) -> _Key:
        """Facts that a distance depends on: the sets that are ahead, and what the innermost item has begun as, by which
        it may be used up. Along one of an outer item there may be commas of inner ones, which have to differ from those
        before, and from the one under way.
        """
        found: list[tuple[int, ...]] = []
        for item in place.items:
            if any(found):
                found.append((item.ahead, item.earlier, item.text))
            else:
                found.append((item.ahead,) if item.ahead != EMPTY else ())
        begun = () if place.item.ahead == EMPTY else (self._used_up.begun(place.item),)
        return place.configuration, (*found, begun)

    def _additive(self, configuration: int) -> int:
        return int(self._compiled.additives(np.array([configuration], np.int32))[0])


def _along_items(place: ItemPlace) -> int:
    """Number of the items down to the outermost one that may still become an earlier one. A comma behind one of these
    leads to an item that has to differ from the earlier ones of its array, which `_key` doesn't have.
    """
    return 1 + next(level for level, item in enumerate(place.items) if item.ahead != EMPTY)
