"""The two automata of a lexeme over characters: the one that reads it, and the watch over where it ended.

Their states are lists of threads. Behind a match only the threads above it are left, for they are preferred; a watch
is the same list, in which the match that was taken is marked good, and every other match is bad. Characters come as
numbers (`alphabet`); how they become bytes is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from grammar_cache.dialects.lexemes.lexeme import FATAL, HARMLESS, OPEN
from grammar_cache.dialects.lexemes.minimal import Moves, blocks, living
from grammar_cache.dialects.lexemes.program import Chars, Match, Program, too_large
from grammar_cache.dialects.lexemes.threads import FREE, GOOD, PAST, Front, Runner, Thread, waiting
from grammar_cache.errors import UnsupportedFeature


@dataclass(frozen=True, slots=True)
class CharAutomata:
    """Automata of a terminal, as in `lexeme.Lexeme`, over characters. Missing moves in `watch_moves` are FATAL."""

    moves: Moves
    closes: list[int]
    label: list[int]
    watch_moves: Moves
    ends: list[bool]


def automata(program: Program, contains: list[frozenset[int]], chars: int, limit: int) -> CharAutomata:
    """Automata of a program, minimal. `contains[set]`: its characters, of which there are `chars`.

    Raises LimitExceeded(rule_states), or UnsupportedFeature where the match depends on what precedes the lexeme.
    """
    runner = Runner(program, contains)
    watches = _Watches(runner, chars, limit)
    reading = _Reading(runner, chars, limit)
    closings = [{label: watches.start(s, label) for label in _labels(program, s)} for s in reading.states]
    closings[0] = {}
    watches.build()
    watch_place, watch_moves, ends = watches.minimised()
    closes: list[int] = []
    labels: list[int] = []
    for closing in closings:
        possible = [(watch_place[w], label) for label, w in closing.items() if watch_place[w] != FATAL]
        if len(possible) > 1:
            raise UnsupportedFeature("which of two terminals has matched depends on the text behind")
        close, label = possible[0] if possible else (OPEN, -1)
        closes.append(close)
        labels.append(label)
    moves, closes, labels = _minimised_reading(reading.moves, closes, labels)
    return CharAutomata(moves, closes, labels, watch_moves, ends)


State: TypeAlias = tuple[tuple[Thread, ...], int]
"""Threads, highest priority first, and what the lookbehinds have seen."""


class _Steps:
    """All moves of a list of threads: only characters that some thread tells apart are tried."""

    def __init__(self, runner: Runner, chars: int) -> None:
        self._runner = runner
        self._chars = range(chars)
        self._fronts: dict[tuple[tuple[int, ...], int], Front] = {}

    def moves(self, state: State) -> list[tuple[int, Front, int]]:
        """(character, threads behind it, what the lookbehinds have seen then), where any thread is left."""
        threads, behind = state
        runner = self._runner
        by_char: dict[int, list[Thread]] = {}
        free = True
        for thread in threads:
            place, conditions, _ = thread
            instruction = runner.program.code[place] if place >= 0 else None
            chars = runner.contains[instruction.members] if isinstance(instruction, Chars) else self._chars
            runner.work.spend(len(chars))
            free = free and conditions is FREE and isinstance(instruction, Chars)
            for char in chars:
                by_char.setdefault(char, []).append(thread)
        found = []
        for char, alive in by_char.items():
            after = runner.lookbehinds.after(behind, char)
            if free:  # then the threads' next places alone decide, for any character
                key = (tuple(thread[0] for thread in alive), after)
                if key not in self._fronts:
                    self._fronts[key] = runner.step(alive, char, after)
                front = self._fronts[key]
            else:
                front = runner.step(alive, char, after)
            found.append((char, front, after))
        return found


class _Reading:
    """The automaton that reads the lexeme. State 0 is the start, to which nothing leads back."""

    def __init__(self, runner: Runner, chars: int, limit: int) -> None:
        front = Front(runner, 0)
        front.add(runner.program.start, FREE)
        steps = _Steps(runner, chars)
        self.states: list[State] = [(tuple(front.threads), 0)]
        self.moves: Moves = []
        number: dict[State, int] = {}
        for threads, behind in self.states:  # grows while it is read
            moves: dict[int, int] = {}
            going_on = waiting((*_as_past(runner.program, thread), *thread[1:]) for thread in threads)
            for char, front, after in steps.moves((going_on, behind)):
                left = waiting(front.threads)
                if not left:
                    continue
                state = (left, after)
                if state not in number:
                    number[state] = len(self.states)
                    self.states.append(state)
                    _check(len(self.states), limit)
                moves[char] = number[state]
            self.moves.append(moves)


def _as_past(program: Program, thread: Thread) -> tuple[int]:
    place = thread[0]
    return (PAST if place >= 0 and isinstance(program.code[place], Match) else place,)


def _labels(program: Program, state: State) -> list[int]:
    """The alternatives that have matched here, perhaps under conditions."""
    found: dict[int, None] = {}
    for place, _, _ in state[0]:
        instruction = program.code[place] if place >= 0 else None
        if isinstance(instruction, Match):
            found[instruction.label] = None
    return list(found)


def _check(states: int, limit: int) -> None:
    if states > limit:
        raise too_large(limit)


_HARMLESS_STATE = 0
"""State of `_Watches`: the state in which nothing is left to fear."""


class _Watches:
    """The automaton of all watches. A missing move is fatal."""

    def __init__(self, runner: Runner, chars: int, limit: int) -> None:
        self._runner = runner
        self._limit = limit
        self._steps = _Steps(runner, chars)
        self._chars = range(chars)
        self._states: list[State] = [((), 0)]
        self._number: dict[object, int] = {}
        self._moves: Moves = []
        self._ends: list[bool] = []

    def start(self, state: State, label: int) -> int:
        """The watch over a match of the alternative `label` in this state; FATAL if it can't be the one."""
        threads, behind = state
        code = self._runner.program.code
        marked = []
        for place, conditions, inner in threads:
            instruction = code[place] if place >= 0 else None
            if isinstance(instruction, Match):
                place = GOOD if instruction.label == label else PAST
            marked.append((place, conditions, inner))
        return self._intern(marked, behind)

    def build(self) -> None:
        """Follows all watches to wherever they lead."""
        for state in self._states:  # grows while it is read
            if not self._moves:
                self._moves.append(dict.fromkeys(self._chars, _HARMLESS_STATE))
                self._ends.append(True)
                continue
            self._ends.append(self._may_end(state))
            moves = {}
            for char, front, behind in self._steps.moves(state):
                target = self._intern(front.threads, behind)
                if target != FATAL:
                    moves[char] = target
            self._moves.append(moves)

    def minimised(self) -> tuple[dict[int, int], Moves, list[bool]]:
        """Minimal automaton: for each state its place in it, HARMLESS or FATAL; its moves; where texts may end."""
        alive = living(self._moves, self._ends)
        moves = self._moves
        block = blocks(moves, alive, [int(end) for end in self._ends])
        place = dict.fromkeys(range(len(moves)), FATAL)
        order: list[int] = []
        numbers = {block[_HARMLESS_STATE]: HARMLESS}
        for s in alive:
            if block[s] not in numbers:
                numbers[block[s]] = len(order)
                order.append(s)
            place[s] = numbers[block[s]]
        kept = [{c: place[t] for c, t in moves[s].items() if place[t] != FATAL} for s in order]
        return {**place, FATAL: FATAL}, kept, [self._ends[s] for s in order]

    def _intern(self, threads: Sequence[Thread], behind: int) -> int:
        """A number for what decides: the last good match, and what is above it; order counts between them only."""
        last = max((i for i, thread in enumerate(threads) if thread[0] == GOOD), default=-1)
        if last < 0:
            return FATAL
        if threads[0][0] == GOOD and threads[0][1] is FREE:
            return _HARMLESS_STATE
        threads = tuple(threads[: last + 1])
        groups = groupby(threads, lambda thread: thread[0] == GOOD)
        key = (tuple(frozenset(group) for _, group in groups), behind)
        if key not in self._number:
            self._number[key] = len(self._states)
            self._states.append((threads, behind))
            _check(len(self._states), self._limit)
        return self._number[key]

    def _may_end(self, state: State) -> bool:
        """Whether the good match is the match if the text ends here."""
        for thread in state[0]:
            if self._runner.matches_at_end(thread):
                return thread[0] == GOOD
        return False


def _minimised_reading(moves: Moves, closes: list[int], labels: list[int]) -> tuple[Moves, list[int], list[int]]:
    """Automaton without states from which the lexeme can't close, equivalent ones merged, numbered by first visit."""
    alive = living(moves, [close != OPEN for close in closes])
    if not alive or alive[0] != 0:
        return [{}], [OPEN], [-1]
    colours: dict[tuple[int, int], int] = {(OPEN, -1): 0}
    colour = [colours.setdefault(key, len(colours)) for key in zip(closes, labels, strict=True)]
    block = blocks(moves, alive, colour)
    order, place = [0], {block[0]: 0}
    kept: Moves = []
    for s in order:  # grows while it is read
        row = {}
        for c, t in moves[s].items():
            if t in block:
                if block[t] not in place:
                    place[block[t]] = len(order)
                    order.append(t)
                row[c] = place[block[t]]
        kept.append(row)
    return kept, [closes[s] for s in order], [labels[s] for s in order]
