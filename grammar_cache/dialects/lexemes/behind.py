"""The lookbehinds of a program, followed alongside the threads: each tries to match from every place on.

What precedes the lexeme isn't known. Where a lookbehind may have been by then is kept apart from where it surely is,
and a match that depends on it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from grammar_cache.dialects.lexemes.program import BODY_MATCH, Again, Chars, Enter, Match, Program, Split, Work
from grammar_cache.errors import UnsupportedFeature


class Lookbehinds:
    """States are numbers; 0 is the start of the lexeme. Characters are numbers; `contains[set]` are those in a set."""

    def __init__(self, program: Program, contains: list[frozenset[int]], work: Work) -> None:
        self._program = program
        self._work = work
        self._contains = contains
        starts = tuple((self._reach([t.body]), self._unknown(t.body, t.anchored)) for t in program.trackers)
        self._states = [starts]
        self._number = {starts: 0}
        self._moves: dict[tuple[int, int], int] = {}

    def holds(self, tracker: int, state: int) -> bool:
        """Whether a lookbehind matches here. Raises UnsupportedFeature if that depends on what precedes the lexeme."""
        sure, unknown = self._states[state][tracker]
        if BODY_MATCH not in sure and BODY_MATCH in unknown:
            name = self._program.trackers[tracker].name
            raise UnsupportedFeature(f"{name} that depends on the text before the terminal")
        return BODY_MATCH in sure

    def after(self, state: int, char: int) -> int:
        """The state after one more character."""
        if not self._program.trackers:
            return state
        key = (state, char)
        if key not in self._moves:
            after = []
            for (sure, unknown), tracker in zip(self._states[state], self._program.trackers, strict=True):
                again = frozenset() if tracker.anchored else self._reach([tracker.body])
                now_sure = again | self._reach(self._moved(sure, char))
                after.append((now_sure, self._reach(self._moved(unknown, char)) - now_sure))
            states = tuple(after)
            if states not in self._number:
                self._number[states] = len(self._states)
                self._states.append(states)
            self._moves[key] = self._number[states]
        return self._moves[key]

    def _moved(self, places: Iterable[int], char: int) -> list[int]:
        instructions = (self._program.code[place] for place in places)
        return [i.then for i in instructions if isinstance(i, Chars) and char in self._contains[i.members]]

    def _unknown(self, body: int, anchored: bool) -> frozenset[int]:
        """Places where a lookbehind may be at the start of the lexeme, depending on what precedes it."""
        found = {BODY_MATCH}
        todo = [] if anchored else list(self._reach([body]))
        while todo:
            instruction = self._program.code[todo.pop()]
            if isinstance(instruction, Chars):
                new = self._reach([instruction.then]) - found
                found |= new
                todo += new
        return frozenset(found)

    def _reach(self, places: Iterable[int]) -> frozenset[int]:
        """Places where the threads of a lookbehind wait. The width of a lookbehind is fixed: priorities and empty
        loops don't matter.
        """
        seen, todo = set(places), list(places)
        while todo:
            self._work.spend()
            match self._program.code[todo.pop()]:
                case Split(targets):
                    following = targets
                case Enter(_, then):
                    following = (then,)
                case Again(_, body, tail, _):
                    following = (body, tail)
                case _:
                    continue
            new = [place for place in following if place not in seen]
            seen.update(new)
            todo += new
        return frozenset(p for p in seen if isinstance(self._program.code[p], Chars | Match))
