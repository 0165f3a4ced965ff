"""Places behind tokens. What most tokens lead to is known of the compiled grammar, without a look at their bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.loops.array_types import Ints
from grammar_cache.unique_items.item_tokens import ItemTokens
from grammar_cache.unique_items.places import ENDS, GAPS, Place, Places

_NO_ITEM = frozenset({b"\xff"})
"""Earlier items of a place that is looked at for all of its kind: none that a text could repeat."""


class _Crossing(NamedTuple):
    """String of a vocabulary that goes over the comma behind an item."""

    string: int
    before: bytes
    behind: bytes


class TokenPlaces:
    """Places of a compiled grammar, and the tokens between them."""

    def __init__(self, table: Configurations, compiled: CompiledGrammar, tokens: ItemTokens) -> None:
        self.places = Places(table)
        self._compiled = compiled
        self._tokens = tokens
        self._crossings: dict[int, tuple[_Crossing, ...]] = {}
        self._begun: dict[tuple[int, bytes], Place | int] = {}

    def behind(self, place: Place | int, token: int, *, reserved: bool = False) -> Place | int:
        """The place behind a token, DEAD (-1) if it leads nowhere. `reserved`: also beyond the limit. Raises
        LimitExceeded(configurations), Interrupted.
        """
        vocabulary = self._compiled.vocabulary
        data = vocabulary.spelling[token] if 0 <= token < vocabulary.size else None
        if data is None:
            return DEAD
        if isinstance(place, Place):
            if self._is_followed(place, int(vocabulary.string_of[token]), data):
                return self.places.follow(place, data, reserved=reserved)
            after = self._plainly_behind(place.configuration, token, reserved)
            return after if after == DEAD else place.behind(after, data)
        after = self._plainly_behind(place, token, reserved)
        return after if after == DEAD else self._entered(place, after, data, reserved=reserved)

    def correct(self, number: int, tokens: Ints, after: Ints) -> None:
        """Writes the numbers of the places behind several tokens over those of the configurations."""
        place, vocabulary = self.places.of(number), self._compiled.vocabulary
        if place is None:
            self._correct_entries(number, tokens, after)
            return
        for column, string in enumerate(vocabulary.string_of[tokens].tolist()):
            if string < 0:
                continue
            data = vocabulary.strings[string]
            if self._is_followed(place, string, data):
                after[column] = self.places.number(self.places.follow(place, data))
            elif after[column] != DEAD:
                after[column] = self.places.number(place.behind(int(after[column]), data))

    def crossing(self, place: Place) -> Iterator[tuple[int, Place | int]]:
        """Strings that go over the comma behind the item of a place, with the places behind them, DEAD left out."""
        ends = not place.text or place.text[-1] in GAPS
        before: bytes | None = None
        further: Place | int = DEAD
        for string, text, behind in self._crossings_of(place):
            if ends and not text.strip(GAPS):
                continue
            if text != before:
                before = text
                item = place.behind(place.configuration, text)
                further = DEAD if b"" in item.ahead else self.places.further(item)
            after = self._begun_by(further, behind)
            if after != DEAD:
                yield string, after

    def _plainly_behind(self, configuration: int, token: int, reserved: bool) -> int:
        if reserved:
            return self._compiled.take(configuration, token)
        after = self._compiled.consume(configuration, token)
        return DEAD if after is None else after

    def _is_followed(self, place: Place, string: int, data: bytes) -> bool:
        """Whether a token has to be followed byte by byte: it may end an item."""
        if string in self._tokens.leaving:
            return True
        if not place.ahead or string not in self._tokens.ending:
            return False
        return any(data.startswith(rest) and len(data) > len(rest) for rest in place.ahead)

    def _entered(self, before: int, after: int, data: bytes, *, reserved: bool = False) -> Place | int:
        """The place that a configuration is, behind a token from outside of arrays."""
        arrays = self.places.arrays
        if arrays.of(after) is None or arrays.meets(before):
            return after
        found = self.places.follow(before, data, reserved=reserved)
        return found if isinstance(found, Place) and found.configuration == after else after

    def _correct_entries(self, before: int, tokens: Ints, after: Ints) -> None:
        arrays, vocabulary = self.places.arrays, self._compiled.vocabulary
        if before == DEAD or arrays.meets(before):
            return
        for column, configuration in enumerate(after.tolist()):
            if configuration != DEAD and arrays.of(configuration) is not None:
                data = vocabulary.strings[vocabulary.string_of[tokens[column]]]
                after[column] = self.places.number(self._entered(before, configuration, data))

    def _crossings_of(self, place: Place) -> tuple[_Crossing, ...]:
        known = self._crossings.get(place.configuration)
        if known is None:
            ends: dict[bytes, bool] = {}
            found = []
            for string, before, behind in self._tokens.commas:
                if before not in ends:
                    ends[before] = self._ends_item(place, before)
                if ends[before]:
                    found.append(_Crossing(string, before, behind))
            found.sort(key=lambda crossing: crossing.before)
            known = self._crossings[place.configuration] = tuple(found)
        return known

    def _ends_item(self, place: Place, data: bytes) -> bool:
        """Whether an item may end behind some bytes, whatever was read of it before."""
        arrays, at = self.places.arrays, place.configuration
        for byte in data:
            at = self.places.table.step(at, byte)
            if at == DEAD or arrays.of(at) != place.array:
                return False
        return arrays.complete(at)

    def _begun_by(self, further: Place | int, data: bytes) -> Place | int:
        """The place behind some bytes that begin a further item."""
        if not isinstance(further, Place):
            return DEAD
        key = further.configuration, data
        if key not in self._begun:
            self._begun[key] = self.places.follow(further._replace(earlier=_NO_ITEM, ahead=_NO_ITEM), data)
        known = self._begun[key]
        if known == DEAD:
            return DEAD
        if isinstance(known, Place) and known.earlier is _NO_ITEM and not ENDS.intersection(known.text[-1:]):
            ahead = [rest[len(known.text) :] for rest in further.earlier if rest.startswith(known.text)]
            return known._replace(earlier=further.earlier, ahead=frozenset(ahead))
        return self.places.follow(further, data)
