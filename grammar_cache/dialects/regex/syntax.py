"""Reading a pattern, with an explicit stack of open groups, into the piece that it means.

The dialect is what Python's `re` and ECMA-262 have in common; where they differ, `ecma` chooses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from grammar_cache.dialects.regex.escapes import CharSet, Scanner, one_char, read_class, read_escape
from grammar_cache.dialects.regex.quantifiers import at_quantifier, read_quantifier
from grammar_cache.dialects.regex.tree import (
    NIL,
    Edge,
    EdgeKind,
    Tree,
    choice,
    join,
    look,
    plain,
    possessive,
    times,
)
from grammar_cache.expression import ANY_CHAR, Bytes, CharClass, char_class
from grammar_cache.limits import Limits

_NOT_LINE_FEED = char_class([(0x0A, 0x0A)], negated=True)
_NOT_ECMA_LINE_END = char_class([(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)], negated=True)
_PLAIN = re.compile(r"[^\\\[(){.^$|*+?\ud800-\udfff]+")
_NAME = re.compile(r"\?P?<([^\W\d]\w*)>")
_FLAGS = re.compile(r"\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")
_COMMENT = re.compile(r"\(\?#[^)]*\)")
_EDGES: dict[str, EdgeKind] = {
    **{"^": "start", "\\A": "start", "$": "end", "\\Z": "end", "\\z": "end"},
    **{"\\b": "boundary", "\\B": "no boundary"},
}
_LINE_EDGES: dict[str, EdgeKind] = {"^": "line start", "$": "line end"}
_LOOKS = {"?=": (True, False), "?!": (False, False), "?<=": (True, True), "?<!": (False, True)}
_REFUSED_GROUPS = {
    "?>": "an atomic group",
    "?(": "a conditional group",
    "?P=": "a back-reference",
    "?P>": "a subroutine call",
    "?|": "a branch reset group",
}
_UNCLOSED = {
    "?#": "the comment is not closed",
    "?P<": "the name of a group is no name, or not closed",
    "?<": "the name of a group is no name, or not closed",
}


@dataclass(frozen=True, slots=True)
class Flags:
    """Flags with which a part of the pattern is read."""

    ignore_case: bool = False
    dot_all: bool = False
    multi_line: bool = False


@dataclass(slots=True)
class _Group:
    """An open group: what was read of it so far."""

    opened: int
    outer: Flags
    looks: tuple[bool, bool] | None = None
    """Kind of a lookahead or lookbehind: whether it is a positive one, and whether it looks behind."""
    branches: list[Tree] = field(default_factory=list)
    items: list[Tree] = field(default_factory=list)

    def end_branch(self) -> None:
        self.branches.append(join(self.items))
        self.items = []


class RegexReader:
    """One pattern being read."""

    def __init__(self, text: str, *, ecma: bool, flags: Flags, limits: Limits) -> None:
        self._cursor = Scanner(text, ecma)
        self._limits = limits
        self._flags = flags
        self._stack = [_Group(0, self._flags)]
        self._names: set[str] = set()
        self._looks = 0
        self._classes: dict[tuple[int | None, bool], CharClass] = {}

    def read(self) -> Tree:
        """The whole pattern."""
        cursor = self._cursor
        while not cursor.at_end:
            self._step(cursor.peek(), cursor.offset)
        if len(self._stack) > 1:
            raise cursor.syntax_error("the group is not closed", self._stack[-1].opened)
        return self._finish(self._stack[0])

    def _step(self, char: str, start: int) -> None:
        cursor = self._cursor
        mark = char if char != "\\" else cursor.peek(2)
        edge = (_LINE_EDGES.get(mark) if self._flags.multi_line else None) or _EDGES.get(mark)
        if edge is not None:
            cursor.offset += len(mark)
            self._stack[-1].items.append(Edge(edge))
            if at_quantifier(cursor):
                raise cursor.syntax_error("an anchor can't be repeated", cursor.offset)
        elif char == "(":
            self._open(start)
        elif char == ")":
            self._close(start)
        elif char == "|":
            cursor.offset += 1
            self._stack[-1].end_branch()
        elif char == "[":
            self._add_class(read_class(cursor, self._flags.ignore_case), start)
        elif char == "\\":
            self._add_chars(read_escape(cursor, self._flags.ignore_case), start)
        elif char == ".":
            cursor.offset += 1
            self._add_class(self._dot(), start)
        elif at_quantifier(cursor):
            raise cursor.syntax_error("nothing to repeat", start)
        else:
            self._add_literal(start)

    def _dot(self) -> CharClass:
        if self._flags.dot_all:
            return ANY_CHAR
        return _NOT_ECMA_LINE_END if self._cursor.ecma else _NOT_LINE_FEED

    def _add_literal(self, start: int) -> None:
        """A run of ordinary characters; a quantifier takes only the last."""
        cursor = self._cursor
        run = None if self._flags.ignore_case else cursor.match(_PLAIN)
        if run is None:
            cursor.offset += 1
            self._add_chars(one_char(ord(cursor.text[start])), start)
            return
        value = run[0]
        self._pass_comments()
        if len(value) > 1 and at_quantifier(cursor):
            self._stack[-1].items.append(plain(Bytes(value[:-1].encode())))
            value = value[-1]
        self._add(plain(Bytes(value.encode())), start)

    def _add_chars(self, chars: CharSet, start: int) -> None:
        if not chars.folds:
            self._add_class(CharClass(chars.ranges), start)
            return
        key = (chars.single, self._flags.ignore_case)
        if key not in self._classes:
            self._classes[key] = char_class(chars.folded(self._flags.ignore_case, ecma=self._cursor.ecma))
        self._add_class(self._classes[key], start)

    def _add_class(self, members: CharClass, start: int) -> None:
        single = CharSet(members.ranges).single
        expression = members if single is None else Bytes(chr(single).encode())
        self._add(plain(expression), start)

    def _add(self, piece: Tree, start: int) -> None:
        """One atom with the quantifier behind it."""
        cursor = self._cursor
        self._pass_comments()
        counts = read_quantifier(cursor)
        if counts is not None:
            piece = self._repeated(piece, *counts, start)
            if at_quantifier(cursor):
                raise cursor.syntax_error("a quantifier behind a quantifier", cursor.offset)
        self._check_height(piece, start)
        self._stack[-1].items.append(piece)

    def _repeated(self, piece: Tree, least: int, most: int | None, start: int) -> Tree:
        cursor = self._cursor
        if not cursor.take("+"):
            cursor.take("?")  # whether more or fewer are tried first changes nothing about which texts match
            return times(piece, least, most)
        repeated = possessive(piece, least, most)
        if repeated is None:
            raise cursor.unsupported("a possessive quantifier behind more than one character or class", start)
        self._count_look(start)
        return repeated

    def _check_height(self, piece: Tree, start: int) -> None:
        if piece.height > self._limits.nesting:
            message = f"more than {self._limits.nesting} levels of nesting"
            raise self._cursor.limit_exceeded(message, "nesting", start)

    def _pass_comments(self) -> None:
        """Passes comments, which may stand between an atom and its quantifier."""
        while self._cursor.match(_COMMENT):
            pass

    def _open(self, start: int) -> None:
        cursor = self._cursor
        if cursor.match(_COMMENT):
            return
        cursor.offset += 1
        group = _Group(start, self._flags)
        if cursor.peek() == "?":
            refused = next((text for mark, text in _REFUSED_GROUPS.items() if cursor.take(mark)), None)
            if refused:
                raise cursor.unsupported(refused, start)
            mark = next((mark for mark in _LOOKS if cursor.take(mark)), None)
            if mark:
                group.looks = _LOOKS[mark]
            elif name := cursor.match(_NAME):
                self._name(name[1], start)
            elif self._set_flags(start):
                return
        if len(self._stack) > self._limits.nesting:
            message = f"more than {self._limits.nesting} groups inside each other"
            raise cursor.limit_exceeded(message, "nesting", start)
        self._stack.append(group)

    def _name(self, name: str, start: int) -> None:
        if name in self._names:
            raise self._cursor.syntax_error(f"two groups named {name}", start)
        self._names.add(name)

    def _set_flags(self, start: int) -> bool:
        """Reads the inside of `(?flags:` or `(?flags)`; whether it was the latter, which opens no group."""
        cursor = self._cursor
        found = cursor.match(_FLAGS)
        if found is None or (found[3] == ")" and (not found[1] or found[2])):
            unclosed = next((what for mark, what in _UNCLOSED.items() if cursor.take(mark)), None)
            raise cursor.syntax_error(unclosed or "an unknown kind of group", start)
        for flag in found[1] + (found[2] or ""):
            if flag not in "isam":
                raise cursor.unsupported(f"the flag {flag}", start)
        if found[3] == ")" and self._begun:
            raise cursor.syntax_error("flags for the whole pattern belong at its start", start)
        on, off = set(found[1]), set(found[2] or "")
        if on & off:
            raise cursor.syntax_error("a flag both set and cleared", start)
        self._flags = Flags(
            ignore_case="i" in on or (self._flags.ignore_case and "i" not in off),
            dot_all="s" in on or (self._flags.dot_all and "s" not in off),
            multi_line="m" in on or (self._flags.multi_line and "m" not in off),
        )
        return found[3] == ")"

    @property
    def _begun(self) -> bool:
        """Whether anything but flags and comments was read."""
        whole = self._stack[0]
        return len(self._stack) > 1 or bool(whole.items or whole.branches)

    def _close(self, start: int) -> None:
        cursor = self._cursor
        if len(self._stack) == 1:
            raise cursor.syntax_error("an unmatched closing parenthesis", start)
        cursor.offset += 1
        group = self._stack.pop()
        piece = self._finish(group)
        self._flags = group.outer
        if group.looks is not None:
            self._count_look(group.opened)
            wanted, behind = group.looks
            if behind and piece.ahead:
                raise cursor.unsupported("a lookahead inside a lookbehind", group.opened)
            piece = look(piece, wanted=wanted, behind=behind)
        self._add(piece, group.opened)

    def _count_look(self, start: int) -> None:
        self._looks += 1
        if self._looks > self._limits.nesting:
            message = f"more than {self._limits.nesting} lookaheads and lookbehinds"
            raise self._cursor.limit_exceeded(message, "nesting", start)

    def _finish(self, group: _Group) -> Tree:
        group.end_branch()
        piece = choice(group.branches) if group.branches else NIL
        self._check_height(piece, group.opened)
        return piece
