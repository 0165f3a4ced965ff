"""Numbers of texts that items may still become, as the network has them, whatever was there before; and whether all of
these were there, so that an item is used up.

Texts are compact ones. One that can be read in two ways counts as two, and items that hold arrays of unique items count
as any number: what is told is never too small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import NamedTuple

from grammar_cache.network.network import Network
from grammar_cache.unique_items.compact_texts import GAPS, Lexical, compacted
from grammar_cache.unique_items.item_place import OpenItem
from grammar_cache.unique_items.item_sets import EMPTY
from grammar_cache.unique_items.item_texts import NO_TEXT
from grammar_cache.unique_items.open_arrays import ENTRY_BYTES
from grammar_cache.unique_items.places import ItemPlaces

MOST_STEPS = 65_536
"""Steps within which the numbers of a grammar are found, some 0.1 s. What isn't found counts as any number."""
MOST_TEXTS = 1 << 40
"""Number above which one is as good as any: more items than that no text has."""
AT_BYTES = 400
"""Bytes of a state or a place in the network, and of what is known there, about."""

_UNKNOWN = -1
"""Number of all beginnings that aren't followed."""
_OPENS, _CLOSES = ord("["), ord("]")
_OTHER = ord(".")  # one for all bytes that neither begin nor end anything, nor are white space
_TOLD_APART = frozenset((*GAPS, *b'"\\[]'))


class _At(NamedTuple):
    """Place in the network: a state; the states to return to, the innermost last; how many of these calls have read
    nothing yet; how the text stands; and its open brackets, fewer than none behind the one of the array.
    """

    state: int
    returns: tuple[int, ...]
    fresh: int
    lexical: Lexical
    depth: int


class _State(NamedTuple):
    """State of the network: moves by classes from one to another one, and calls, each with the state behind it."""

    moves: list[tuple[int, int, int]]
    calls: list[tuple[int, int]]
    final: bool


@dataclass(slots=True)
class _Count:
    """Number under way at a place: its further ways, how many texts lead along each, what has been counted, and how
    often that counts where it was asked for.
    """

    at: _At
    ways: Iterator[tuple[_At, int]]
    found: float
    times: int


class TextCounts:
    """Numbers of texts of the items of one grammar. Beginnings of texts are numbered, alike ones as one."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._states: dict[int, _State] = {}
        self._classes = network.classes.tolist()
        self._kinds = [Counter[int]() for _ in range(network.class_count)]
        for byte, of in enumerate(self._classes):
            self._kinds[of][_kind(byte)] += 1
        self._unique = {number for unique in network.unique for number in unique[:2]}
        self._counts: dict[_At, float] = {}
        self._begun: list[frozenset[_At]] = []
        self._numbers: dict[frozenset[_At], int] = {}
        self._after: dict[tuple[int, int], int] = {}
        entries = {unique.rule: network.entry[unique.further] for unique in network.unique}
        begins = {rule: _At(entry, (), 0, Lexical.BETWEEN, 0) for rule, entry in entries.items()}
        self._begins = {rule: self._number([at]) for rule, at in begins.items()}
        self._find(begins.values())

    def begin(self, rule: int) -> int:
        """The empty beginning, by the rule of an array's first item."""
        return self._begins[rule]

    def after(self, begun: int, byte: int) -> int:
        """The beginning that is a byte longer."""
        known = _UNKNOWN if begun == _UNKNOWN else self._after.get((begun, byte))
        if known is None:
            of, closed = self._classes[byte], list(self._begun[begun])
            for at in closed:
                closed += self._silent(at)
            moves = ((at, to) for at in closed for low, high, to in self._state(at).moves if low <= of <= high)
            read = (_read(at, to, _kind(byte)) for at, to in moves)
            known = self._number([at for at in read if at is not None])
            # What isn't followed into is no beginning that is known.
            known = self._after[begun, byte] = _UNKNOWN if any(map(self._is_endless, closed)) else known
        return known

    def count(self, begun: int) -> float:
        """Number of the texts that begin so, at most; infinite if there is no end of them, or none is known."""
        return inf if begun == _UNKNOWN else sum(self._counts.get(at, inf) for at in self._begun[begun])

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        return AT_BYTES * (len(self._states) + len(self._counts) + len(self._begun))

    def _number(self, ats: Iterable[_At]) -> int:
        found = frozenset(ats)
        known = self._numbers.get(found)
        if known is None:
            known = self._numbers[found] = len(self._begun)
            self._begun.append(found)
        return known

    def _find(self, begins: Iterable[_At]) -> None:
        """Counts from some places, and from all that they lead to, as far as the steps last."""
        steps, under_way = 0, set[_At]()
        for begin in begins:
            counts = [self._begun_count(begin, 1)]
            while counts and steps < MOST_STEPS:
                steps += 1
                count = counts[-1]
                at, times = next(count.ways, (None, 0))
                if at is None:
                    count.found = count.found if count.found <= MOST_TEXTS else inf
                    self._counts[count.at] = count.found
                    under_way.discard(counts.pop().at)
                    if counts:
                        counts[-1].found += count.times * count.found
                elif at.depth < 0:
                    count.found += times
                elif at in under_way:
                    count.found = inf
                elif at in self._counts:
                    count.found += times * self._counts[at]
                else:
                    under_way.add(at)
                    counts.append(self._begun_count(at, times))

    def _begun_count(self, at: _At, times: int) -> _Count:
        """Count of a place."""
        endless = self._is_endless(at)
        return _Count(at, iter(()) if endless else self._ways(at), inf if endless else 0, times)

    def _is_endless(self, at: _At) -> bool:
        """Whether a rule is called anew behind its own call there, or that of an array of unique items."""
        return any(rule in self._unique or back in at.returns for rule, back in self._state(at).calls)

    def _ways(self, at: _At) -> Iterator[tuple[_At, int]]:
        """Places one step further, and how many bytes lead there."""
        for low, high, state in self._state(at).moves:
            for kind, times in chain.from_iterable(self._kinds[of].items() for of in range(low, high + 1)):
                after = _read(at, state, kind)
                if after is not None:
                    yield after, times
        for after in self._silent(at):
            yield after, 1

    def _state(self, at: _At) -> _State:
        """The state of a place, read from the network's arrays once."""
        known = self._states.get(at.state)
        if known is None:
            states = self._network.states
            own = slice(*states.move_first[at.state : at.state + 2].tolist())
            called = slice(*states.call_first[at.state : at.state + 2].tolist())
            low, high, to = (column[own].tolist() for column in (states.move_low, states.move_high, states.move_to))
            rule, back = (column[called].tolist() for column in (states.call_rule, states.call_back))
            known = _State(
                list(zip(low, high, to, strict=True)), list(zip(rule, back, strict=True)), bool(states.final[at.state])
            )
            self._states[at.state] = known
        return known

    def _silent(self, at: _At) -> Iterator[_At]:
        """Places into rules that are called there, and back from one that has read something."""
        own = self._state(at)
        for rule, back in own.calls:
            if back not in at.returns:
                entry = self._network.entry[rule]
                yield at._replace(state=entry, returns=(*at.returns, back), fresh=at.fresh + 1)
        if own.final and at.returns and not at.fresh:
            yield at._replace(state=at.returns[-1], returns=at.returns[:-1])


class UsedUp:
    """Comparison of how many texts an item may become with how many of these were there."""

    def __init__(self, counts: TextCounts, places: ItemPlaces) -> None:
        self._counts = counts
        self._places = places
        self._begun: dict[tuple[int, int], int] = {}  # by the rule of the array and the text

    def is_so(self, item: OpenItem) -> bool:
        """Whether all that an item under way may become was there."""
        return item.ahead != EMPTY and self._counts.count(self.begun(item)) <= self._places.sets.count(item.ahead)

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        return ENTRY_BYTES * len(self._begun)

    def begun(self, item: OpenItem) -> int:
        """Number of what has been read of an item, among beginnings of texts."""
        rule, texts, way = item.array.rule, self._places.texts, [item.text]
        while (rule, way[-1]) not in self._begun and way[-1] != NO_TEXT:
            way.append(texts.shorter(way[-1]))
        begun = self._begun.get((rule, way.pop()), self._counts.begin(rule))
        for text in reversed(way):
            begun = self._begun[rule, text] = self._counts.after(begun, texts.last(text))
        return begun


def _kind(byte: int) -> int:
    return byte if byte in _TOLD_APART else _OTHER


def _read(at: _At, state: int, kind: int) -> _At | None:
    """The place behind a byte of that kind, at a state; None behind white space that tells nothing."""
    data, lexical = compacted(bytes((kind,)), at.lexical)
    closed = 0 if at.lexical.in_string else (kind == _CLOSES) - (kind == _OPENS)
    return _At(state, at.returns, 0, lexical, at.depth - closed) if data else None
