"""A regular expression as a program for threads that run in order of priority.

A thread stands on an instruction; which of several ways it prefers is the order of `Split.targets`. Programs know
sets of code points by number. This module knows no syntax, and doesn't run anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Range


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set, then `then`."""

    members: int
    then: int


@dataclass(frozen=True, slots=True)
class Split:
    """Any of the targets, the first preferred; none of them fails."""

    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Enter:
    """A loop begins whose body may be empty; `bit` is its own."""

    bit: int
    then: int


@dataclass(frozen=True, slots=True)
class Again:
    """Branch to the body once more, or to the tail. `re` leaves the loop after an iteration that consumed nothing."""

    bit: int
    body: int
    tail: int
    greedy: bool


@dataclass(frozen=True, slots=True)
class LookInstruction:
    """Condition that the body matches (or, `negative`, doesn't) from here on."""

    body: int
    negative: bool
    then: int


@dataclass(frozen=True, slots=True)
class Behind:
    """Condition that the tracker of that number has (or, `negative`, hasn't) just matched."""

    tracker: int
    negative: bool
    then: int


@dataclass(frozen=True, slots=True)
class Atomic:
    """The body's first match by priority, and none of its others."""

    body: int
    then: int


@dataclass(frozen=True, slots=True)
class Match:
    """A match: of the alternative `label`, or of a body (-1)."""

    label: int


@dataclass(frozen=True, slots=True)
class End:
    """The end of the whole text; only as the body of a `LookInstruction`."""


Instruction: TypeAlias = Chars | Split | Enter | Again | LookInstruction | Behind | Atomic | Match | End

FAIL = Split(())
BODY_MATCH = 0
"""The place of `Match(-1)` in every program."""


@dataclass(frozen=True, slots=True)
class Tracker:
    """A lookbehind: its body, and what to call it in a refusal. `anchored`: tried at the start of the text only."""

    body: int
    name: str
    anchored: bool = False


def too_large(limit: int) -> LimitExceeded:
    return LimitExceeded(f"a terminal needs more than {limit} automaton states", limit="rule_states")


@dataclass(slots=True)
class Work:
    """Work that one terminal may still cost, in steps of about a microsecond; `limit`: the states it is allowed."""

    limit: int
    left: int

    def spend(self, steps: int = 1) -> None:
        """Raises LimitExceeded(rule_states) when nothing is left."""
        self.left -= steps
        if self.left < 0:
            raise too_large(self.limit)


_SET = 8
"""Cost of a set in a pattern, in instructions, beside one for each of its ranges."""


@dataclass(slots=True)
class Program:
    """Instructions, and the sets and lookbehinds that they name by number. `limit`: of instructions."""

    limit: int
    start: int = 0
    code: list[Instruction] = field(default_factory=lambda: [Match(-1)])
    sets: dict[tuple[Range, ...], int] = field(default_factory=dict)
    trackers: list[Tracker] = field(default_factory=list)
    loops: int = 0
    work: Work = field(init=False)

    def __post_init__(self) -> None:
        self.work = Work(self.limit, self.limit)

    def add(self, instruction: Instruction) -> int:
        """Raises LimitExceeded(rule_states)."""
        self.code.append(instruction)
        self.work.spend()
        return len(self.code) - 1

    def chars(self, ranges: tuple[Range, ...], then: int) -> int:
        if not ranges:
            return self.add(FAIL)
        if ranges not in self.sets:
            self.work.spend(_SET + len(ranges))
            self.sets[ranges] = len(self.sets)
        return self.add(Chars(self.sets[ranges], then))

    def new_loop_bit(self) -> int:
        self.loops += 1
        return 1 << (self.loops - 1)
