"""All successors of a configuration: what every token of the vocabulary leads to. Distinct ones are remembered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.configurations.arena import PATTERN, ROW_HEAD
from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.errors import LimitExceeded
from grammar_cache.interrupt import Interrupt
from grammar_cache.loops.array_types import Flags, Ints
from grammar_cache.successors.class_walks import ClassWalks
from grammar_cache.successors.distinct_kernels import (
    BREADTH_COST,
    DISTINCT,
    NO_FUEL,
    NO_ROOM,
    SERIAL,
    SOURCE,
    SOURCE_COST,
    WIDE_COST,
    WRITTEN,
    distinct_successors,
)
from grammar_cache.successors.known_around import KnownAround
from grammar_cache.successors.loop_exits import KnownExits
from grammar_cache.successors.narrow_places import NarrowPlaces
from grammar_cache.successors.packed import PackedSuccessors
from grammar_cache.successors.remaining_walks import remaining_walks
from grammar_cache.successors.rule_classes import RuleClasses
from grammar_cache.successors.scratch import Scratch
from grammar_cache.successors.self_loops import LoopExits
from grammar_cache.successors.successors import Successors
from grammar_cache.successors.token_kernels import (
    PackedWords,
    TokenWalks,
    after_token,
    clear,
    consume,
    follow,
    tokens_into,
)
from grammar_cache.vocabulary.token_set import Bits, allowed, mask_bytes, union
from grammar_cache.vocabulary.vocabulary import Vocabulary

_ROOM = 1024  # successors at first, of all sources together
ENDLESS = 1 << 62
"""Fuel that isn't spent."""


class SuccessorTables:
    """Token steps over the growing table of configurations, one at a time, in batches, and for the whole vocabulary."""

    def __init__(
        self,
        configurations: Configurations,
        vocabulary: Vocabulary,
        limit_bytes: int,
        interrupt: Interrupt,
        fuel: int = ENDLESS,
    ) -> None:
        """`fuel`: what looking at all tokens from one configuration may cost, else it is narrow."""
        self._configurations = configurations
        self._vocabulary = vocabulary
        self._interrupt = interrupt
        self._fuel = fuel
        self._successors: LruCache[int, Successors] = LruCache(limit_bytes // 2)
        self._narrow = NarrowPlaces(vocabulary, fuel)
        self.packed = PackedSuccessors()
        self._words = vocabulary.cache(PackedWords).of(vocabulary)
        self._classes: list[int] = configurations.network.classes.tolist()
        self._exits = KnownExits(configurations, vocabulary)
        self._path = np.empty(vocabulary.longest + 1, np.int32)
        self._spent = np.empty(vocabulary.longest + 1, np.int32)
        self._scratch = Scratch()
        self.rule_classes = RuleClasses(configurations, vocabulary)
        self._class_walks = ClassWalks(configurations, vocabulary, self.rule_classes, self._scratch)
        self._around = KnownAround(configurations, self._exits, self._class_walks)

    @property
    def held_bytes(self) -> int:
        """Bytes of what is remembered, and of what walks need."""
        known = self._successors.size + self.packed.size_bytes
        walks = self._exits.held_bytes + self.rule_classes.held_bytes + self._scratch.size_bytes
        return known + walks + self._narrow.held_bytes

    def accepts(self, configuration: int) -> bool:
        """Whether the text that led here is in the language."""
        return self._configurations.accepts(configuration)

    def accepting(self, configurations: Ints) -> Flags:
        """`accepts` of each."""
        return self._configurations.arena.accepts[configurations]

    @property
    def lengths(self) -> Ints:
        """The bytes of each string."""
        return self._vocabulary.lengths

    def length(self, string: int) -> int:
        """The bytes of a string."""
        return int(self._vocabulary.lengths[string])

    def consume(self, configurations: NDArray[np.int32], tokens: NDArray[np.int32]) -> NDArray[np.int32]:
        """The configuration after each token: int32[rows, k] from int32[rows] and int32[rows, k]; DEAD where none."""
        table, after, done = self._configurations, np.empty(tokens.shape, np.int32), 0
        while done < after.size:
            done, status = consume(*table.blocks, self._words.block, configurations, tokens, after, done)
            if status < 0:
                table.outcome(status)
        return after

    def follow(self, configuration: int, data: bytes) -> int:
        """Follows bytes as `consume_bytes` does, whatever they cost together."""
        arena, at = self._configurations.arena, configuration
        row_of, rows, patterns, classes = arena.row.item, arena.rows.item, arena.patterns.item, self._classes
        for byte in data:
            row = row_of(at)
            if row < 0:
                return self.consume_bytes(configuration, data)
            at = rows(row + ROW_HEAD + patterns(rows(row + PATTERN), classes[byte]))
            if at == DEAD:
                return DEAD
        return at

    def token(self, configuration: int, token: int) -> int:
        """The configuration after a token, or DEAD: where it leads nowhere, or costs too much."""
        table = self._configurations
        while (after := after_token(*table.blocks, self._words.block, configuration, token)) < DEAD:
            table.outcome(after)
        return int(after)

    def consume_bytes(self, configuration: int, data: bytes) -> int:
        """The configuration after these bytes, or DEAD."""
        behind = self._behind(configuration, data)
        return int(behind[-1]) if len(behind) else configuration

    def consume_strings(self, configuration: int, strings: Ints) -> Ints:
        """The configuration after each of some strings, one after the other; DEAD from where they lead nowhere on."""
        text = b"".join(self._vocabulary.strings[one] for one in strings.tolist())
        behind = self._behind(configuration, text, once=True)
        return behind.take(self._vocabulary.lengths[strings].cumsum() - 1)

    def _behind(self, configuration: int, data: bytes, once: bool = False) -> Ints:
        """The configuration behind each of these bytes, DEAD from where they lead nowhere on. `once`: nothing else is
        made on the way that hasn't to be.
        """
        table, done, status = self._configurations, 0, -1
        text, behind = np.frombuffer(data, np.uint8), np.full(len(data), DEAD, np.int32)
        while status < 0:
            done, configuration, status = follow(*table.blocks, text, once, done, configuration, behind)
            if status < 0:
                table.outcome(status)
        return behind

    def follow_reserved(self, configuration: int, data: bytes) -> int:
        """Follows bytes as `follow` does, for a text that was chosen: where limits stand against it, one configuration
        a byte is made.
        """
        try:
            return self.follow(configuration, data)
        except LimitExceeded:
            return self.follow_alone(configuration, data)

    def follow_alone(self, configuration: int, data: bytes) -> int:
        """The configuration after these bytes, or DEAD: whatever limits say, and nothing else is made on the way."""
        at = configuration
        for byte in data:
            at = self._configurations.step_reserved(at, byte) if at != DEAD else DEAD
        return at

    def after(self, configuration: int, string: int) -> int:
        """The configuration after a string, or DEAD."""
        return self.consume_bytes(configuration, self._vocabulary.strings[string])

    def bits_into(self, configuration: int, targets: Ints, also: Sequence[int]) -> Bits:
        """Bits of the tokens that lead from a configuration into some of its successors, and of those that are named
        also.
        """
        if configuration in self._narrow:
            tokens = [*also, *self._narrow.tokens_into(configuration, targets, self.consume)]
            return allowed(tokens, mask_bytes(self._vocabulary.size))
        table = self._configurations
        known = self._exits.around(configuration) if len(targets) else None
        chosen = np.zeros(table.count, np.bool_)
        chosen[targets] = True
        if known is None:
            bits = np.zeros(mask_bytes(self._vocabulary.size), np.uint8)
            whole = np.array([[1], [len(self._words.values.byte)], [configuration]], np.int32)
            walks = TokenWalks(*(whole if len(targets) else whole[:, :0]))
        else:
            bits, walks = self._staying(*known, chosen)
        number, node, status = 0, 0, -1
        while status < 0:
            number, node, status = tokens_into(
                *table.blocks, self._words.block, self._path, self._spent, walks, chosen, bits, number, node
            )
            if status < 0:
                table.outcome(status)
        return bits | allowed(also, len(bits)) if also else bits

    def _staying(self, loop: LoopExits, places: Ints, chosen: Flags) -> tuple[Bits, TokenWalks]:
        """Bits of the tokens that stay in a loop and lead to what is `chosen`, and walks for all others."""
        inside = [tokens for tokens, end in zip(loop.tokens, chosen[places[loop.ends]].tolist(), strict=True) if end]
        bits = union(inside, mask_bytes(self._vocabulary.size)).copy()
        if loop.apart:
            clear(self._words.block, loop.begin[-loop.apart :], loop.past[-loop.apart :], bits)
        return bits, TokenWalks(loop.begin, loop.past, places[loop.before])

    def successors(self, configuration: int) -> Successors:
        """The distinct configurations one token away; one byte away from a narrow configuration."""
        found = [] if configuration in self._narrow else self.expand([configuration], self._fuel)
        return found[0] if found else self._narrow.successors(configuration, self.consume)

    def is_narrow(self, configuration: int) -> bool:
        """Whether looking at all its tokens takes too much: known once `successors` were asked for."""
        return configuration in self._narrow

    def together(self, configurations: Sequence[int]) -> list[Successors]:
        """The successors of each, for who doesn't ask again: found as in `expand`, and not remembered."""
        self._interrupt.check()
        return self._distinct(configurations, ENDLESS) if configurations else []

    def expand(self, configurations: Sequence[int], fuel: int) -> list[Successors]:
        """The successors of the first of these, of as many as the fuel lasts for. Found together, which is quicker than
        one by one. What is known costs as much as what isn't. What searches long asks this, so here it is told to stop.
        """
        self._interrupt.check()
        known = [self._known(configuration) for configuration in configurations]
        unknown = [configuration for configuration, one in zip(configurations, known, strict=True) if one is None]
        found = iter(self._distinct(unknown, fuel) if unknown else ())
        expanded: list[Successors] = []
        for configuration, one in zip(configurations, known, strict=True):
            if one is None:
                one = next(found, None)
                if one is None:
                    break
                self._successors.keep(configuration, one, one.size_bytes)
            fuel -= one.cost
            if fuel < 0:
                break
            expanded.append(one)
        return expanded

    def pack(self) -> None:
        """Remembers the successors that are known in less room, and gives back what walks have needed."""
        self.packed = PackedSuccessors(self._successors.taken())
        self._scratch.release()

    def _known(self, configuration: int) -> Successors | None:
        known = self._successors.get(configuration)
        if known is None:
            known = self.packed.get(configuration)
            if known is not None:
                self._successors.keep(configuration, known, known.size_bytes)
        return known

    def _distinct(self, configurations: Sequence[int], fuel: int) -> list[Successors]:
        """Successors of these configurations, or of the first ones, of as many as the fuel lasts for."""
        table, scratch = self._configurations, self._scratch
        sources = np.array(configurations, np.int32)
        wide = self._class_walks.wide(sources)
        costs = SOURCE_COST + BREADTH_COST * table.breadths(sources) + WIDE_COST * wide
        around = self._around.of(sources, wide, costs, fuel)
        walks = remaining_walks(sources, around, len(self._words.values.byte))
        costs += np.array([0 if known is None else known.cost for known in around], np.int64)
        ends, complete = np.zeros(len(configurations), np.int64), np.ones(len(configurations), np.bool_)
        progress = np.array([0, 0, 0, 0, 0, fuel, scratch.serial], np.int64)
        keys, status = np.empty(0, np.int64), NO_ROOM
        try:
            while status not in (0, NO_FUEL):
                if status == NO_ROOM:
                    keys = np.concatenate([keys, np.empty(max(_ROOM, len(keys), int(progress[DISTINCT])), np.int64)])
                else:
                    table.outcome(status)
                scratch.make_room(len(table.arena.accepts))
                status = distinct_successors(
                    *table.blocks, self._words.block, self._path, self._spent, walks, progress, scratch.shortest,
                    scratch.found, scratch.walked, costs, complete, keys, ends,
                )  # fmt: skip
        finally:
            scratch.serial = int(progress[SERIAL]) + 1
            scratch.shortest[scratch.found[: progress[DISTINCT]]] = -1  # nothing, unless it ended on the way
        keys = keys[: progress[WRITTEN]]
        reached, strings = (keys & 0xFFFFFFFF).astype(np.int32), (keys >> 32).astype(np.int32)
        bounds = [0, *ends[: progress[SOURCE]].tolist()]
        return [
            Successors(reached[first:past].copy(), strings[first:past].copy(), cost, whole)
            for first, past, cost, whole in zip(bounds, bounds[1:], costs.tolist(), complete.tolist(), strict=False)
        ]
