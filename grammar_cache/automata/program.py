"""A rule's code with those of the rules that it inlines: what an automaton is made of, and the key to find it by.

Most programs are only looked up, so what they consist of is written in one piece for those that are made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from grammar_cache.automata.flat_expression import CALL_OF, INLINED, Code
from grammar_cache.loops.array_types import Ints

Name: TypeAlias = tuple[str, bool]
"""A rule that is named, and whether inside And and Not."""
Target: TypeAlias = tuple[int, int]
"""What a name stands for: CALL_OF and the place in `called`, or INLINED and the segment."""


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Segments, the first of which is the rule's own. Called rules are numbered by their place in `called`, which
    ascends. Equal `digest`s mean equal `ops`.
    """

    segments: Sequence[Code]
    targets: Mapping[Name, Target]
    called: tuple[int, ...]
    digest: bytes

    @property
    def root(self) -> int:
        return self.segments[0].root

    def ops(self) -> Ints:
        """All operations, those of inlined rules behind, each once."""
        ops = np.concatenate([segment.ops for segment in self.segments])
        begins = [0, *accumulate(len(segment.ops) for segment in self.segments)]
        for begin, segment in zip(begins, self.segments, strict=False):
            for rows, inside in ((segment.outer, False), (segment.inner, True)):
                for place, name in rows.tolist():
                    at, (op, of) = begin + place, self.targets[segment.names[name], inside]
                    ops[at], ops[at + 1] = op, of if op == CALL_OF else at - begins[of] - self.segments[of].root
        return ops


def linked(code: Code, number: Mapping[str, int], inline: Callable[[str, bool], Code]) -> Program:
    """Calls of rules that have a number; all others are inlined, and `inline` gives their code, outside or inside."""
    if not code.names:
        return Program((code,), {}, (), code.digest)
    segments = [code]
    targets: dict[Name, Target] = {}
    called: dict[str, int] = {}
    for segment in segments:  # grows meanwhile
        for name, inside in (*((name, True) for name in segment.inlined), *((name, False) for name in segment.called)):
            if not inside and name in number:
                called[name] = number[name]
            elif (name, inside) not in targets:
                targets[name, inside] = INLINED, len(segments)
                segments.append(inline(name, inside))
    place_of = {rule: place for place, rule in enumerate(sorted(called.values()))}
    targets |= {(name, False): (CALL_OF, place_of[rule]) for name, rule in called.items()}
    return Program(segments, targets, tuple(place_of), _digest(segments, targets))


def _digest(segments: Sequence[Code], targets: Mapping[Name, Target]) -> bytes:
    hashed = blake2b(digest_size=16)
    for segment in segments:
        meant = [(targets.get((name, False)), targets.get((name, True))) for name in segment.names]
        hashed.update(segment.digest + segment.outer.tobytes() + segment.inner.tobytes() + repr(meant).encode())
    return hashed.digest()
