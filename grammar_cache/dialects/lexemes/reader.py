"""Reader of a regular expression in Python's syntax, which makes a program of it.

Python's own parser (`re._parser`) reads the pattern, so that its syntax, its messages and its flags are those of
`re`. What can't be decided from the lexeme and what follows it, or can't be done by automata, is refused by name. The
recursion is as deep as groups are nested, which `Limits.nesting` bounds before the parser starts.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from re import _parser  # type: ignore[attr-defined,unused-ignore]  # hypothesis imports it, which hides the error
from threading import RLock
from typing import Any

from grammar_cache.dialects.lexemes.classes import Item, asks_re, category, complement, literal, members
from grammar_cache.dialects.lexemes.program import (
    BODY_MATCH,
    FAIL,
    Again,
    Atomic,
    Behind,
    End,
    Enter,
    LookInstruction,
    Match,
    Program,
    Split,
    Tracker,
)
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.expression import ANY_CHAR
from grammar_cache.limits import Limits

_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.ASCII | re.UNICODE
_UNITS = (_parser.LITERAL, _parser.NOT_LITERAL, _parser.ANY, _parser.IN)
_BRACKETS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]", re.DOTALL)
_MAYBE_WARNS = re.compile(r"\[\^?\[|--|&&|~~|\|\|")
_WARNINGS = RLock()
"""The filters of warnings belong to the whole process."""
_ASKING = 2000
"""Cost of asking `re` about all code points, in instructions."""
_NEW_LINE = ((0x0A, 0x0A),)


def parse(pattern: str, flags: int, limits: Limits) -> Any:
    """The pattern as `re._parser` reads it. Raises GrammarSyntaxError with its message, or LimitExceeded(nesting)."""
    if flags & ~_FLAGS:
        raise UnsupportedFeature(f"the regular expression flag {re.RegexFlag(flags & ~_FLAGS)!r}")
    _check_nesting(pattern, limits.nesting)
    try:
        with unwarned(pattern):
            return _parser.parse(pattern, flags)
    except re.error as error:
        raise GrammarSyntaxError(f"in the regular expression /{_short(pattern)}/: {error}") from error
    except (ValueError, OverflowError) as error:
        raise GrammarSyntaxError(f"the regular expression /{_short(pattern)}/: {error}") from error
    except RecursionError as error:  # parentheses in what only a verbose pattern knows to be a comment
        raise LimitExceeded("a regular expression is nested too deeply", limit="nesting") from error


@contextmanager
def unwarned(pattern: str) -> Iterator[None]:
    """Scope without `re`'s warnings about sets that may come to mean something else one day. One thread at a time."""
    if not _MAYBE_WARNS.search(pattern):
        yield
        return
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def read(parsed: Sequence[Any], limits: Limits) -> Program:
    """The parsed alternatives, tried in order; the match of each has its number as a label."""
    program = Program(limits.rule_states)
    starts = [
        _Reader(program).sequence(pattern, pattern.state.flags, program.add(Match(label)))
        for label, pattern in enumerate(parsed)
    ]
    program.start = program.add(Split(tuple(starts)))
    return program


def _check_nesting(pattern: str, limit: int) -> None:
    depth = 0
    for bracket in _BRACKETS.finditer(pattern):
        if bracket[0] == "(":
            depth += 1
            if depth > limit:
                raise LimitExceeded(f"more than {limit} groups inside each other", limit="nesting")
        elif bracket[0] == ")":
            depth -= 1


def _short(pattern: str) -> str:
    return pattern if len(pattern) <= 80 else pattern[:79] + "…"


class _Reader:
    """Emits one pattern backwards: what comes next is always known."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._bodies: dict[tuple[Any, int], int] = {}
        self._trackers: dict[tuple[Any, int], int] = {}
        self._in_lookbehind = False

    def sequence(self, items: Iterable[Item], flags: int, then: int) -> int:
        """Place where the items start, if `then` follows them."""
        for op, value in reversed(list(items)):
            then = self._item(op, value, flags, then)
        return then

    def _item(self, op: Any, value: Any, flags: int, then: int) -> int:
        add = self._program.add
        if op in _UNITS:
            return self._unit(op, value, flags, then)
        if op is _parser.SUBPATTERN:
            _, added, cleared, items = value
            if added & _parser.TYPE_FLAGS:
                flags &= ~_parser.TYPE_FLAGS
            return self.sequence(items, (flags | added) & ~cleared, then)
        if op is _parser.BRANCH:
            return add(Split(tuple(self.sequence(branch, flags, then) for branch in value[1])))
        if op is _parser.MAX_REPEAT or op is _parser.MIN_REPEAT:
            least, most, body = value
            return self._repeat(body, (least, most), op is _parser.MAX_REPEAT, flags, then)
        if op is _parser.FAILURE:
            return add(FAIL)
        if op is _parser.GROUPREF:
            raise UnsupportedFeature("a back-reference in a regular expression")
        if op is _parser.GROUPREF_EXISTS:
            raise UnsupportedFeature("a conditional group in a regular expression")
        if self._in_lookbehind:
            raise UnsupportedFeature("an anchor, lookaround or atomic group inside a lookbehind")
        if op is _parser.ASSERT or op is _parser.ASSERT_NOT:
            return self._lookaround(value, op is _parser.ASSERT_NOT, flags, then)
        if op is _parser.AT:
            return self._anchor(value, flags, then)
        if op is _parser.ATOMIC_GROUP:
            return add(Atomic(self.sequence(value, flags, BODY_MATCH), then))
        if op is _parser.POSSESSIVE_REPEAT:
            return self._possessive(value, flags, then)
        raise UnsupportedFeature(f"the construct {op} in a regular expression")

    def _unit(self, op: Any, value: Any, flags: int, then: int) -> int:
        about_sets = flags & (re.IGNORECASE | re.ASCII | re.UNICODE)
        if op is _parser.LITERAL:
            ranges = literal(value, about_sets)
        elif op is _parser.NOT_LITERAL:
            ranges = complement(literal(value, about_sets))
        elif op is _parser.IN:
            if asks_re(value, about_sets):
                self._program.work.spend(_ASKING)
            ranges = members(tuple(value), about_sets)
        else:
            ranges = ANY_CHAR.ranges if flags & re.DOTALL else complement(_NEW_LINE)
        return self._program.chars(ranges, then)

    def _repeat(self, body: Any, counts: tuple[int, Any], greedy: bool, flags: int, then: int) -> int:
        """`least` copies, then a loop, or as many nested options as are left.

        A loop whose body may be empty has a bit: set on the way into an iteration that isn't obligatory, cleared
        by any character.
        """
        program = self._program
        least, most = counts
        bit = program.new_loop_bit() if body.getwidth()[0] == 0 else 0
        start = then
        if most is _parser.MAXREPEAT:
            start = program.add(FAIL)
            inside = self.sequence(body, flags, start)
            program.code[start] = Again(bit, inside, then, greedy)
            if least:
                start = inside
                least -= 1
        else:
            for _ in range(most - least):
                start = program.add(Again(bit, self.sequence(body, flags, start), then, greedy))
        for _ in range(least):
            program.work.spend()  # empty items cost too
            start = self.sequence(body, flags, start)
        return program.add(Enter(bit, start)) if bit else start

    def _possessive(self, value: Any, flags: int, then: int) -> int:
        """`re` keeps to the first match of each iteration, and to the most iterations."""
        least, most, body = value
        if len(body) != 1 or body[0][0] not in _UNITS:
            body = _parser.SubPattern(body.state, [(_parser.ATOMIC_GROUP, body)])
        repeat = self._repeat(body, (least, most), True, flags, BODY_MATCH)
        return self._program.add(Atomic(repeat, then))

    def _lookaround(self, value: Any, negative: bool, flags: int, then: int) -> int:
        direction, body = value
        key = (id(body), flags)
        if direction >= 0:
            if key not in self._bodies:
                self._bodies[key] = self.sequence(body, flags, BODY_MATCH)
            return self._program.add(LookInstruction(self._bodies[key], negative, then))
        if key not in self._trackers:
            least, most = body.getwidth()
            if least != most:
                raise GrammarSyntaxError("in a regular expression: look-behind requires fixed-width pattern")
            self._in_lookbehind = True
            start = self.sequence(body, flags, BODY_MATCH)
            self._in_lookbehind = False
            self._track(key, Tracker(start, "a lookbehind"))
        return self._program.add(Behind(self._trackers[key], negative, then))

    def _track(self, key: tuple[Any, int], tracker: Tracker) -> None:
        self._trackers[key] = len(self._program.trackers)
        self._program.trackers.append(tracker)

    def _anchor(self, at: Any, flags: int, then: int) -> int:
        add = self._program.add
        if at is _parser.AT_BEGINNING or at is _parser.AT_BEGINNING_STRING:
            lines = at is _parser.AT_BEGINNING and bool(flags & re.MULTILINE)
            return add(Behind(self._line_start() if lines else self._text_start(), False, then))
        if at is _parser.AT_BOUNDARY or at is _parser.AT_NON_BOUNDARY:
            return self._boundary(at is _parser.AT_BOUNDARY, bool(flags & re.ASCII), then)
        key = (at, flags & re.MULTILINE)
        if key not in self._bodies:
            end = add(End())
            if at is not _parser.AT_END_STRING:
                behind = BODY_MATCH if flags & re.MULTILINE else end
                end = add(Split((end, self._program.chars(_NEW_LINE, behind))))
            self._bodies[key] = end
        return add(LookInstruction(self._bodies[key], False, then))

    def _text_start(self) -> int:
        key = ("text start", 0)
        if key not in self._trackers:
            self._track(key, Tracker(self._program.add(FAIL), "the anchor ^ or \\A", anchored=True))
        return self._trackers[key]

    def _line_start(self) -> int:
        key = ("line start", 0)
        if key not in self._trackers:
            self._track(key, Tracker(self._program.chars(_NEW_LINE, BODY_MATCH), "the anchor ^"))
        return self._trackers[key]

    def _boundary(self, wanted: bool, ascii_only: bool, then: int) -> int:
        """A word character on one side only, or (not `wanted`) on both or none."""
        add = self._program.add
        key = ("word", int(ascii_only))
        if key not in self._trackers:
            body = self._program.chars(category(r"\w", ascii_only), BODY_MATCH)
            self._bodies[key] = body
            self._track(key, Tracker(body, "the word boundary \\b or \\B"))
        word, behind = self._bodies[key], self._trackers[key]
        after_word = add(LookInstruction(word, wanted, then))
        after_other = add(LookInstruction(word, not wanted, then))
        return add(Split((add(Behind(behind, False, after_word)), add(Behind(behind, True, after_other)))))
