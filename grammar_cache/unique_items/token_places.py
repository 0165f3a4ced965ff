"""Places behind tokens. What most tokens lead to is known of the compiled grammar, without a look at their bytes.

A token may go over the comma behind an item, if all behind it is inside of the next one; and open an array of required
items, if all behind the bracket is inside of the first one.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.loops.array_types import Ints
from grammar_cache.unique_items.compact_texts import GAPS, Lexical, compacted
from grammar_cache.unique_items.item_place import ItemPlace, OpenItem
from grammar_cache.unique_items.item_sets import EMPTY
from grammar_cache.unique_items.item_texts import NO_TEXT
from grammar_cache.unique_items.item_tokens import ItemTokens
from grammar_cache.unique_items.open_arrays import ENTRY_BYTES, OpenArray
from grammar_cache.unique_items.places import ENDS, ItemPlaces

CROSSING_BYTES = 400
"""Bytes of a crossing, with what it holds, about."""


_Where: TypeAlias = tuple[int, tuple[OpenArray, ...], bool]
"""Configuration, the arrays with items of a place, and whether others have to follow the next one."""


class Crossing(NamedTuple):
    """Tokens that go over the comma behind an item and begin the same of the next one: `begun`, the place where there
    are no earlier items. `ways`: the tokens by what is before the comma; `tokens`: all of them. `data`: what is behind
    the comma, where others have to follow the item before.
    """

    begun: ItemPlace
    data: bytes
    ways: dict[bytes, Ints]
    tokens: Ints


class TokenPlaces:
    """Places of a compiled grammar, and the tokens between them."""

    def __init__(self, table: Configurations, compiled: CompiledGrammar, tokens: ItemTokens) -> None:
        self.places = ItemPlaces(table)
        self._compiled = compiled
        self._tokens = tokens
        self._crossings: dict[_Where, tuple[Crossing, ...]] = {}
        self._over: dict[_Where, dict[int, tuple[bytes, ItemPlace, bytes]]] = {}
        self._openings: dict[int, dict[int, ItemPlace]] = {}
        self._opening = {string for same in tokens.openings.values() for string, _ in same}

    def behind(self, place: ItemPlace | int, token: int, *, reserved: bool = False) -> ItemPlace | int:
        """The place behind a token, DEAD (-1) if it leads nowhere. `reserved`: also beyond the limit. Raises
        LimitExceeded(configurations), Interrupted.
        """
        configuration = place.configuration if isinstance(place, ItemPlace) else place
        if reserved:
            after = self._compiled.take(configuration, token)
        else:
            found = self._compiled.consume(configuration, token)
            after = DEAD if found is None else found
        return self.placed(place, token, after, reserved=reserved)

    def correct(self, number: int, tokens: Ints, after: Ints) -> None:
        """Writes the numbers of the places behind several tokens over those of the configurations."""
        place = self.places.of(number)
        if number == DEAD:
            return
        for column, (token, configuration) in enumerate(zip(tokens.tolist(), after.tolist(), strict=True)):
            found = self.placed(number if place is None else place, token, configuration)
            after[column] = self.places.number(found)

    def crossings(self, place: ItemPlace) -> tuple[Crossing, ...]:
        """Tokens that may go over the comma behind the item of a place, by what they begin."""
        known = self._crossings.get(_where(place))
        if known is None:
            known = self._crossings[_where(place)] = self._found_crossings(place)
        return known

    def openings(self, configuration: int) -> dict[int, ItemPlace]:
        """Places behind the strings that open an array of required items outside of all arrays, and begin its first
        item as none of its spare items does: by string.
        """
        if not self.places.required.arrays:
            return {}
        known = self._openings.get(configuration)
        if known is None:
            known = self._openings[configuration] = self._found_openings(configuration)
        return known

    def known_openings(self, configuration: int) -> dict[int, ItemPlace] | None:
        """Places as `openings` gives them, if they are known."""
        return self._openings.get(configuration) if self.places.required.arrays else {}

    def behind_comma(self, place: ItemPlace, before: bytes, *, stays: bool) -> ItemPlace | None:
        """The place behind the comma that follows some bytes of the item of a place; None where that item was there
        before, can't end yet, or is the last one. One that doesn't stay is only looked at.
        """
        if not before and not self.places.at_end(place):
            return None
        leaves = len(place.items) > 1 and b"]" in before
        item = self.places.follow(place, before) if leaves else self.places.read(place, before)
        if not isinstance(item, ItemPlace) or self.places.is_repeated(item):
            return None
        further = self.places.further(item, stays=stays)
        return further if isinstance(further, ItemPlace) else None

    def begun(self, further: ItemPlace, begun: ItemPlace, data: bytes) -> ItemPlace:
        """A place that is begun behind a comma by some bytes, with the earlier items there."""
        pairs = zip(further.items, begun.items, strict=True)
        text = self.places.texts.text
        items = tuple([self.places.longer(item, text(new.text), begun.lexical) for item, new in pairs])
        return begun._replace(items=items, spares=self.places.follow_spares(further, data))

    def placed(self, place: ItemPlace | int, token: int, after: int, *, reserved: bool = False) -> ItemPlace | int:
        """The place behind a token, given the configuration that the compiled grammar knows behind it."""
        vocabulary = self._compiled.vocabulary
        data = vocabulary.spelling[token] if 0 <= token < vocabulary.size else None
        if data is None:
            return DEAD
        string = int(vocabulary.string_of[token])
        if isinstance(place, int):
            found: ItemPlace | int
            if after == DEAD and string in self._opening and self.places.required.arrays:
                found = self.places.follow(place, data, reserved=reserved)
                return found if _has_begun(found) else DEAD
            enters = after != DEAD and (not self.places.arrays.of(place).arrays or string in self._tokens.leaving)
            return self._followed(place, after, data, reserved=reserved) if enters else after
        is_special = place.spares != DEAD or place.items[-1].owed > 0
        spares = self.places.follow_spares(place, data) if is_special else DEAD
        found = DEAD
        if after != DEAD:
            found = self._inside(place, string, after, data, reserved=reserved)
        elif spares == DEAD or not reserved:  # crossings may take more room than there is
            found = self._across(place, string)
        if found == DEAD and spares != DEAD:
            found = self._by_spares(place, data, spares, reserved=reserved)
        keeps = not is_special or (after == DEAD and spares == DEAD)
        return found if keeps else self.places.with_spares(found, spares)

    def _by_spares(self, place: ItemPlace, data: bytes, spares: int, *, reserved: bool) -> ItemPlace | int:
        """The place behind bytes that spare items alone read, over commas and brackets. Where they leave the array, no
        further ones are told of.
        """
        at: ItemPlace | int = place
        for byte in data:
            at = self.places.after(at, byte, reserved=reserved)
            if isinstance(at, int):
                return spares
        return at

    def _inside(self, place: ItemPlace, string: int, after: int, data: bytes, *, reserved: bool) -> ItemPlace | int:
        """The place behind a string that the compiled grammar takes, of such bytes."""
        if string in self._tokens.ending and place.may_repeat and self._repeats(place, data):
            return DEAD
        if not place.owes and (string in self._tokens.leaving or not self.places.is_inside(place, after)):
            return self._followed(place, after, data, reserved=reserved)
        return self.places.behind(place, after, data)

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        begun = sum(map(len, self._over.values())) + sum(map(len, self._openings.values()))
        return self.places.size_bytes + ENTRY_BYTES * len(self._openings) + CROSSING_BYTES * begun

    def _followed(self, before: ItemPlace | int, after: int, data: bytes, *, reserved: bool) -> ItemPlace | int:
        """The place that a configuration is, behind a token that may have left an array, and entered another one."""
        if not self.places.arrays.of(after).arrays:
            return after
        found = self.places.follow(before, data, reserved=reserved)
        if found == DEAD and not reserved:  # reading it costs too much for all but the witness
            found = self.places.follow(before, data, reserved=True)
        if after in ((found.configuration, found.spares) if isinstance(found, ItemPlace) else (found,)):
            return found
        return after if isinstance(before, int) or not before.may_repeat else DEAD

    def _repeats(self, place: ItemPlace, data: bytes) -> bool:
        """Whether bytes end an item that was there before."""
        if not place.lexical.in_string and not data.strip(GAPS):
            return self.places.is_repeated(place)
        while data and place.may_repeat:
            if place.lexical.in_string:  # nothing ends there
                size = data.find(b'"') + 1 or len(data)
            elif data[0] in ENDS and self.places.is_repeated(place):
                return True
            else:
                size = 1
            place, data = self.places.read(place, data[:size]), data[size:]
        return False

    def _across(self, place: ItemPlace, string: int) -> ItemPlace | int:
        """The place behind a string that the compiled grammar doesn't take: it may go over a comma."""
        self.crossings(place)
        known = self._over[_where(place)].get(string)
        further = None if known is None else self.behind_comma(place, known[0], stays=True)
        return DEAD if known is None or further is None else self.begun(further, *known[1:])

    def _found_crossings(self, place: ItemPlace) -> tuple[Crossing, ...]:
        found: dict[tuple[ItemPlace, bytes], dict[bytes, Ints]] = {}
        over: dict[int, tuple[bytes, ItemPlace, bytes]] = {}
        for before, strings in self._tokens.commas.items():
            level = self._ended(place, before)
            if level is not None:
                strings = self._not_taken(place.configuration, strings) if place.owes else strings
                for begun, same in self._begun(place.items[: level + 1], strings).items():
                    over |= dict.fromkeys(same, (before, *begun))
                    found.setdefault(begun, {})[before] = np.array(self._tokens.ids(same), np.int32)
        self._over[_where(place)] = over
        return tuple(Crossing(*begun, ways, np.concatenate(list(ways.values()))) for begun, ways in found.items())

    def _found_openings(self, configuration: int) -> dict[int, ItemPlace]:
        found: dict[int, ItemPlace] = {}
        for before, strings in self._tokens.openings.items():
            opened = self.places.follow(configuration, before)
            if not isinstance(opened, ItemPlace) or not opened.owes:
                continue
            for string, data in self._not_taken(configuration, strings):
                begun = self.places.follow(opened, data)
                if isinstance(begun, ItemPlace) and _has_begun(begun):
                    found[string] = begun
        return found

    def _not_taken(self, configuration: int, strings: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """Strings that the compiled grammar doesn't take: what a comma or a bracket is part of crosses none."""
        ids = self._tokens.first_ids([string for string, _ in strings])
        after = self._compiled.consume_batch(np.array([configuration], np.int32), ids[None, :])[0]
        return [one for one, behind in zip(strings, after.tolist(), strict=True) if behind == DEAD]

    def _begun(
        self, ended: tuple[OpenItem, ...], strings: list[tuple[int, bytes]]
    ) -> dict[tuple[ItemPlace, bytes], list[int]]:
        """Places that strings begin, given their bytes behind the comma: those that are inside of the next item. Where
        the item before is required, so are these bytes, which spare items may be read by.
        """
        owed = int(ended[-1].owed > 1)
        items = tuple([OpenItem(item.array, EMPTY, NO_TEXT, EMPTY, owed) for item in ended])
        start = ItemPlace(self.places.before(items[-1]), items, Lexical.BETWEEN)
        found: dict[tuple[ItemPlace, bytes], list[int]] = {}
        for string, data in strings:
            after = self.places.follow(start, data)
            text, state = compacted(data, Lexical.BETWEEN)
            if (text and state is Lexical.GAP) or not isinstance(after, ItemPlace):
                continue
            if len(after.items) == len(items) and self.places.texts.text(after.item.text) == text:
                found.setdefault((after, data if ended[-1].owed else b""), []).append(string)
        return found

    def _ended(self, place: ItemPlace, data: bytes) -> int | None:
        """The level of the item that may end behind some bytes, whatever was read of it before."""
        if data and not any(self._may_end(item, data) for item in place.items):
            return None
        arrays, at, open_items = self.places.arrays, place.configuration, place.items
        for byte in data:
            at = self.places.table.step(at, byte)
            if at == DEAD:
                return None
            if place.owes:
                continue
            inside = arrays.of(at).arrays
            open_items = open_items[: len(inside)]
            if not inside or inside != tuple([item.array for item in open_items]):
                return None
        ends = self.places.table.accepts(at) if place.owes else arrays.closes(at, open_items[-1].array)
        return len(open_items) - 1 if ends else None

    def _may_end(self, item: OpenItem, data: bytes) -> bool:
        """Whether bytes may end an item that has begun so, by a look at what encloses it."""
        if item.text == NO_TEXT:
            return True
        last = _CLOSING.get(self.places.texts.first(item.text))
        return data[-1] == last if last else data[-1] not in _CLOSING.values()


def _has_begun(place: ItemPlace | int) -> bool:
    """Whether nothing but the first of required items is under way, and has begun as no spare item does."""
    if isinstance(place, int) or not place.owes or place.spares != DEAD or len(place.items) > 1:
        return False
    return place.item.earlier == EMPTY and place.item.text != NO_TEXT


def _where(place: ItemPlace) -> _Where:
    return place.configuration, tuple([item.array for item in place.items]), place.item.owed > 1


_CLOSING = dict(zip(b'"{[', b'"}]', strict=True))
