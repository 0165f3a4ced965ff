"""Threads of a program in order of priority: what is left of a match, character by character.

A thread may hang on conditions about the text to come, from lookaheads that it has passed: none of the `forbidden`
threads may ever match, and of each set in `required` one must. Where a match hangs on conditions, the threads below
it stay until these are settled. An atomic group is a list of threads inside a thread; what goes on behind it is
forbidden that a better one of them matches. This module knows no bytes and no syntax.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from grammar_cache.dialects.lexemes.behind import Lookbehinds
from grammar_cache.dialects.lexemes.program import (
    BODY_MATCH,
    Again,
    Atomic,
    Behind,
    Chars,
    End,
    Enter,
    LookInstruction,
    Match,
    Program,
    Split,
    Work,
)

PAST = -1
"""Stands for a match at an earlier place."""
GOOD = -2
"""Stands for the match that is watched."""

_WORK = 4
"""Steps of threads for each state that is allowed: some microseconds each."""


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """See the module. Settled conditions have been dropped; equal ones are one object (`Runner.conditions`)."""

    forbidden: frozenset[Thread]
    required: frozenset[frozenset[Thread]]

    def within(self, other: Conditions) -> bool:
        """Whether they hold wherever the other ones do."""
        return self is other or (self.forbidden <= other.forbidden and self.required <= other.required)


@dataclass(frozen=True, slots=True, eq=False)
class AtomicGroup:
    """The threads inside an atomic group, highest priority first; equal ones are one object."""

    threads: tuple[Thread, ...]


Thread: TypeAlias = tuple[int, Conditions, AtomicGroup]
"""Thread of a match: where it stands (an instruction, PAST or GOOD), its conditions, and the threads inside its atomic
group.
"""

FREE = Conditions(frozenset(), frozenset())
NO_GROUP = AtomicGroup(())


class Front:
    """The threads at one place of the text, highest priority first; `closed`: one has matched without conditions."""

    def __init__(self, runner: Runner, behind: int) -> None:
        self.threads: list[Thread] = []
        self.closed = False
        self._runner = runner
        self._behind = behind
        self._seen: dict[tuple[int, int | AtomicGroup], list[Conditions]] = {}
        self._matches: list[Conditions] = []

    def add(self, start: int, conditions: Conditions) -> None:
        """A thread at an instruction, followed to all places where it waits for a character, in order."""
        code = self._runner.program.code
        todo = [(start, 0, conditions)]
        while todo and not self.closed:
            place, inside, conditions = todo.pop()
            self._runner.work.spend()
            instruction = code[place]
            if isinstance(instruction, Match):
                self.match(place, conditions)
                continue
            if self._is_vain(place, 0 if isinstance(instruction, Chars) else inside, conditions):
                continue
            match instruction:
                case Chars() | End():
                    self.threads.append((place, conditions, NO_GROUP))
                case Split(targets):
                    todo += [(target, inside, conditions) for target in reversed(targets)]
                case Enter(bit, then):
                    todo.append((then, inside & ~bit, conditions))
                case Again(bit, body, tail, greedy):
                    leave, stay = (tail, inside & ~bit, conditions), (body, inside | bit, conditions)
                    todo += [leave] if inside & bit else [leave, stay] if greedy else [stay, leave]
                case LookInstruction(body, negative, then):
                    looking = self._runner.look(body, negative, self._behind)
                    if looking is not None:
                        todo.append((then, inside, self._runner.both(conditions, looking)))
                case Behind(tracker, negative, then):
                    if self._runner.lookbehinds.holds(tracker, self._behind) is not negative:
                        todo.append((then, inside, conditions))
                case Atomic(body, then):
                    front = Front(self._runner, self._behind)
                    front.add(body, FREE)
                    todo += [(then, inside, c) for c in self.atomic(place, front.threads, conditions)]

    def match(self, place: int, conditions: Conditions) -> None:
        """A match, now (at a `Match` instruction) or noted earlier."""
        if not self._is_vain(place, 0, conditions):
            self.threads.append((place, conditions, NO_GROUP))
            self._matches.append(conditions)
            self.closed = conditions is FREE

    def atomic(self, place: int, inner: list[Thread], conditions: Conditions) -> list[Conditions]:
        """An atomic group and the threads inside it; the conditions of those that go on behind it from here."""
        going_on = []
        for index, (at, own, _) in enumerate(inner):
            if at == BODY_MATCH:
                better = self._runner.conditions(frozenset(inner[:index]), frozenset())
                going_on.append(self._runner.both(self._runner.both(conditions, own), better))
        left = self._runner.group((PAST if thread[0] == BODY_MATCH else thread[0], *thread[1:]) for thread in inner)
        if left is not NO_GROUP and not self._is_vain(place, left, conditions):
            self.threads.append((place, conditions, left))
        return going_on

    def _is_vain(self, place: int, inside: int | AtomicGroup, conditions: Conditions) -> bool:
        """Whether a thread of higher priority matches whenever this one does."""
        if self._matches and self._is_below_match(conditions):
            return True
        known = self._seen.setdefault((place, inside), [])
        if known:
            self._runner.work.spend(len(known) + len(conditions.forbidden))
            if any(c.within(conditions) for c in known):
                return True
        known.append(conditions)
        return False

    def _is_below_match(self, conditions: Conditions) -> bool:
        return any(c.within(conditions) for c in self._matches)


def waiting(threads: Iterable[Thread]) -> tuple[Thread, ...]:
    """The threads without the earlier matches at the bottom, below which there is nothing to decide."""
    kept = list(threads)
    while kept and kept[-1][0] == PAST:
        kept.pop()
    return tuple(kept)


class Runner:
    """Moves threads over characters. Characters come as numbers; `contains[set]` are those in a set."""

    def __init__(self, program: Program, contains: list[frozenset[int]]) -> None:
        self.program = program
        self.contains = contains
        self.work = Work(program.limit, _WORK * program.limit)
        self._conditions = {(FREE.forbidden, FREE.required): FREE}
        self._groups = {NO_GROUP.threads: NO_GROUP}
        self._inside: dict[tuple[AtomicGroup, int, int], list[Thread]] = {}
        self._looks: dict[tuple[int, bool, int], Conditions | None] = {}
        self._later: dict[tuple[Conditions, int, int], Conditions | None] = {}
        self.lookbehinds = Lookbehinds(program, contains, self.work)

    def conditions(self, forbidden: frozenset[Thread], required: frozenset[frozenset[Thread]]) -> Conditions:
        """The one object for these conditions."""
        key = (forbidden, required)
        known = self._conditions.get(key)
        if known is None:
            known = self._conditions[key] = Conditions(forbidden, required)
        return known

    def both(self, first: Conditions, second: Conditions) -> Conditions:
        if first is FREE or second is FREE:
            return second if first is FREE else first
        self.work.spend(len(first.forbidden) + len(second.forbidden))
        return self.conditions(first.forbidden | second.forbidden, first.required | second.required)

    def group(self, threads: Iterable[Thread]) -> AtomicGroup:
        """The one object for the threads that wait inside an atomic group."""
        key = waiting(threads)
        known = self._groups.get(key)
        if known is None:
            known = self._groups[key] = AtomicGroup(key)
        return known

    def step(self, threads: Iterable[Thread], char: int, behind: int) -> Front:
        """The threads behind one more character; `behind`: what the lookbehinds have seen, it included."""
        front = Front(self, behind)
        for place, conditions, inner in threads:
            instruction = self.program.code[place] if place >= 0 else None
            if isinstance(instruction, End):
                continue
            if isinstance(instruction, Chars) and char not in self.contains[instruction.members]:
                continue
            self.work.spend()
            later = self._after(conditions, char, behind)
            if later is None:
                continue
            match instruction:
                case Chars(_, then):
                    front.add(then, later)
                case Atomic(_, then):
                    for going_on in front.atomic(place, self._step_inside(inner, char, behind), later):
                        front.add(then, going_on)
                case _:
                    front.match(GOOD if place == GOOD else PAST, later)
            if front.closed:
                break
        return front

    def _step_inside(self, group: AtomicGroup, char: int, behind: int) -> list[Thread]:
        key = (group, char, behind)
        if key not in self._inside:
            self._inside[key] = self.step(group.threads, char, behind).threads
        return self._inside[key]

    def _after(self, conditions: Conditions, char: int, behind: int) -> Conditions | None:
        """Conditions that are left; None if one has failed."""
        if conditions is FREE:
            return conditions
        key = (conditions, char, behind)
        if key not in self._later:
            self._later[key] = self._settle(
                self.step(conditions.forbidden, char, behind),
                [self.step(threads, char, behind) for threads in conditions.required],
            )
        return self._later[key]

    def _settle(self, forbidden: Front, required: list[Front]) -> Conditions | None:
        if forbidden.closed or any(not front.threads for front in required):
            return None
        pending = frozenset(frozenset(front.threads) for front in required if not front.closed)
        return self.conditions(frozenset(forbidden.threads), pending)

    def look(self, body: int, negative: bool, behind: int) -> Conditions | None:
        """The conditions that a lookahead sets at this place; None if it fails at once."""
        key = (body, negative, behind)
        if key not in self._looks:
            front, nothing = Front(self, behind), Front(self, behind)
            front.add(body, FREE)
            self._looks[key] = self._settle(front, []) if negative else self._settle(nothing, [front])
        return self._looks[key]

    def holds_at_end(self, conditions: Conditions) -> bool:
        """Whether the conditions hold if the text ends here."""
        return not self._one_matches(conditions.forbidden) and all(map(self._one_matches, conditions.required))

    def _one_matches(self, threads: Iterable[Thread]) -> bool:
        return any(self.matches_at_end(thread) for thread in threads)

    def matches_at_end(self, thread: Thread) -> bool:
        """Whether the thread has matched if the text ends here."""
        place, conditions, _ = thread
        settled = place < 0 or isinstance(self.program.code[place], Match | End)
        return settled and self.holds_at_end(conditions)
