"""Classes of bytes that the wide states of a part of a rule, and of all that it calls, don't tell apart.

Behind a byte that only few may follow, such as the backslash or the end of a JSON string, many bytes differ, but few
tokens have one. So states that read few bytes are *narrow*, and left out: who walks classes of bytes walks bytes behind
them. Wide states that lead to each other are a *part* of their rule: each text of an object is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.counting_sort import by_key
from grammar_cache.configurations.arena import NetworkBlock
from grammar_cache.configurations.interner import Configurations
from grammar_cache.loops.array_types import Flags, Ints
from grammar_cache.successors.class_walk_kernels import WideStates
from grammar_cache.successors.part_kernels import bytes_alike, into_loops, parts
from grammar_cache.vocabulary.class_trie import MOST_CLASSES, ClassTrie, ClassTrieCache
from grammar_cache.vocabulary.vocabulary import Vocabulary

_ENTRY_BYTES = 300
"""Bytes of what is known of a part, with its place in a dictionary, about."""
MOST = 4
"""Different classes of a grammar's parts that there are tries for, beside those of two parts together: the time of
some milliseconds that each takes is in no fuel.
"""
SMALLEST = 8
"""States of a part, at least: tokens soon leave smaller ones."""
_FINER = 2
"""Classes more than a part has, at most, for it to take those of another part: of characters, with and without an end.
"""
_COMPARED = 16
"""Largest parts of a grammar that are looked at for them, mostly texts whose classes are the same: not those of loops,
which are walked beside these.
"""
_LOOKED_AT = 16
"""States of a part, the first ones, of which most lead into loops where the part is one of loops."""
_MOST_CALLED = 2_000
"""States of the rules that a part calls, at most: with more of them it tells too many bytes apart."""
_TOGETHER = 2
"""Parts of a configuration, at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Wide:
    """Wide states of some `parts`, numbered by their least states, and of the rules that are `called` from there, by
    rule; and the vocabulary by the classes of bytes that these don't tell apart.
    """

    parts: Ints
    called: Flags
    by_class: ClassTrie


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """Some `parts`, the rules that are `called` from there, by rule, and `classes` of bytes of which these tell all or
    most apart, and no bytes within one. `key`: equal for equal classes.
    """

    parts: Ints
    called: Flags
    classes: NDArray[np.uint8]
    key: bytes


class RuleClasses:
    """Classes of one grammar's rules, and the vocabulary by them. Made where they are first asked for."""

    def __init__(self, configurations: Configurations, vocabulary: Vocabulary) -> None:
        self._configurations = configurations  # a block is valid for as long as they are
        self._rules = configurations.network_block
        self._rule_of = configurations.network.states.rule
        self._vocabulary = vocabulary
        self._tries = vocabulary.cache(ClassTrieCache)
        self._read: dict[tuple[int, ...], tuple[Flags, NDArray[np.uint8]] | None] = {}
        self._wide: dict[tuple[int, ...], Together | None] = {}

    @property
    def held_bytes(self) -> int:
        """Bytes of what is known, but for tries that grammars share."""
        parts = self.part_of.nbytes if "part_of" in vars(self) else 0
        return parts + sum(_ENTRY_BYTES + (read[0].nbytes if read else 0) for read in list(self._read.values()))

    @cached_property
    def part_of(self) -> Ints:
        """Part of each state, its least state; -1 for narrow ones."""
        return parts(self._rules)

    def found(self, states: list[int]) -> Together | None:
        """The parts of some states, and their classes, for which there may be a trie. None where one of the states is
        narrow, or classes would save little.
        """
        key = tuple(sorted({int(self.part_of[state]) for state in states}))
        if not key or key[0] < 0:
            return None
        if key not in self._wide:
            self._wide[key] = self._found(key)
        return self._wide[key]

    def around(self, states: list[int]) -> Wide | None:
        """Finds what is wide around some states, as `found` does, and where a trie of its classes is small enough."""
        found = self.found(states)
        # tries are kept by the vocabulary alone, which bounds what all grammars' take
        by_class = None if found is None else self._tries.of(self._vocabulary, found.classes)
        return None if found is None or by_class is None else Wide(found.parts, found.called, by_class)

    def within(self, wide: Wide) -> WideStates:
        """The states that are wide there, for compiled walks."""
        return WideStates(self.part_of, self._rule_of, wide.parts, wide.called)

    def _found(self, key: tuple[int, ...]) -> Together | None:
        """Some parts with what they call, and their classes, where these save much."""
        if len(key) > _TOGETHER:
            return None
        alone = [self._classes((part,)) for part in key]
        if any(own is None or self._as_chosen(own[1]) is None for own in alone):
            return None
        together = self._classes(key)
        if together is None:
            return None
        chosen = self._as_chosen(together[1])
        classes = together[1] if chosen is None else chosen
        digest = blake2b(classes.tobytes(), digest_size=8).digest()
        return Together(np.array(key, np.int32), together[0], classes, digest)

    def _as_chosen(self, classes: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
        """The chosen classes that are these, or tell little more apart."""
        return next((chosen for chosen in self._chosen if _finer(chosen, classes)), None)

    @cached_property
    def _chosen(self) -> list[NDArray[np.uint8]]:
        """Classes of the largest parts, of so many as differ: to make a trie for each of any number takes too long."""
        found, compared = list[NDArray[np.uint8]](), 0
        first, order = by_key(self.part_of + 1, len(self.part_of) + 1)  # narrow states come first
        sizes = np.diff(first)[1:]
        for part in np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes >= SMALLEST)].tolist():
            if into_loops(self._rules, order[first[part + 1] : first[part + 2]][:_LOOKED_AT]):
                continue
            read = self._classes((part,))
            if read is not None and not any(_finer(chosen, read[1]) for chosen in found):
                found.append(read[1])
            compared += 1
            if len(found) == MOST or compared == _COMPARED:
                break
        return found

    def _classes(self, key: tuple[int, ...]) -> tuple[Flags, NDArray[np.uint8]] | None:
        if key not in self._read:
            states = np.flatnonzero((self.part_of[:, None] == key).any(axis=1)).astype(np.int32)
            alone = len(key) == 1
            little = alone and (len(states) < SMALLEST or into_loops(self._rules, states[:_LOOKED_AT]))
            self._read[key] = None if little else part_classes(self._rules, self.part_of, states)
        return self._read[key]


def _finer(classes: NDArray[np.uint8], others: NDArray[np.uint8]) -> bool:
    """Whether some classes tell apart what others do, and little more."""
    count, least = int(classes.max()) + 1, int(others.max()) + 1
    if not least <= count <= least + _FINER:
        return False
    of_class = np.zeros(count, np.uint8)
    of_class[classes] = others
    return bool((of_class[classes] == others).all())


def part_classes(rules: NetworkBlock, part_of: Ints, states: Ints) -> tuple[Flags, NDArray[np.uint8]] | None:
    """Flags of the rules that the `states` of some parts call, and they call; the class of each byte, numbered by the
    least bytes of the classes: from no wide state of those parts and rules, two bytes of a class lead to different
    states. None where there are too many classes for a trie, or states that are called.
    """
    called, classes, count = bytes_alike(rules, part_of, states, _MOST_CALLED)
    return (called, classes) if 0 < count <= MOST_CLASSES else None
