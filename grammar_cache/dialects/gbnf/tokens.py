"""Cutting a GBNF text into tokens: names, literals and classes already read, and punctuation.

Line ends are white space here: a rule ends where the next name with `::=` stands. That reads everything that
llama.cpp accepts (it also demands that a rule outside parentheses stays on its line) and xgrammar's layout.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from grammar_cache.dialects.position import line_and_column
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.expression import ANY_CHAR, MAX_CODE_POINT, Bytes, CharClass, Range, char_class

Kind: TypeAlias = Literal["name", "assign", "terminal", "vocabulary", "punctuation", "end"]

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+|\#[^\r\n]*)
      | (?P<assign>::=)
      | (?P<name>[A-Za-z0-9_.-]+)
      | (?P<literal>"(?:[^"\\]|\\.)*")
      | (?P<class>\[(?:[^\]\\]|\\.)*\])
      | (?P<vocabulary>!?<[^<>\r\n]*>)
      | (?P<punctuation>[()|*+?{},=])""",
    re.VERBOSE | re.DOTALL,
)
_CHAR = re.compile(
    r"\\(?:x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|(?P<escape>.))|(?P<plain>.)",
    re.DOTALL,
)
_DOTTED = re.compile(r"\.|[^.]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPES = {
    **{"n": 0x0A, "r": 0x0D, "t": 0x09, "0": 0x00, "a": 0x07, "b": 0x08, "f": 0x0C, "v": 0x0B, "e": 0x1B},
    **{char: ord(char) for char in "\\\"'[]-?/"},
}
_CLASS_ESCAPES = {**_ESCAPES, **{char: ord(char) for char in "^$.*+(){}|"}}


@dataclass(frozen=True, slots=True)
class GbnfToken:
    """`text` is what stands there; terminals have their meaning as `terminal`.

    Kind "vocabulary" is a token of the tokenizer: `<think>`, `<[7]>`, `!<think>`.
    """

    kind: Kind
    text: str
    offset: int
    terminal: Bytes | CharClass | None = None

    @property
    def end(self) -> int:
        return self.offset + len(self.text)


def tokenize(text: str) -> list[GbnfToken]:
    """All tokens, with one of kind "end" behind the last."""
    stray = _SURROGATE.search(text)
    if stray:
        raise syntax_error("a lone surrogate", text, stray.start())
    tokens: list[GbnfToken] = []
    offset = 0
    while offset < len(text):
        found = _TOKEN.match(text, offset)
        if found is None:
            raise _unreadable(text, offset)
        if found.lastgroup != "space":
            tokens.append(_token(found, text))
        offset = found.end()
    tokens.append(GbnfToken("end", "", len(text)))
    return _with_dots(tokens)


class TokenStream:
    """The tokens of a grammar, one after the other, and the errors that name a place among them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._index = 0
        self._defined = {
            token.text for token, after in pairwise(self._tokens) if token.kind == "name" and after.kind == "assign"
        }

    def peek(self, ahead: int = 0) -> GbnfToken:
        return self._tokens[min(self._index + ahead, len(self._tokens) - 1)]

    def next(self) -> GbnfToken:
        """The next token, which is then passed; the last one stays."""
        token = self.peek()
        self._index += 1
        return token

    def take(self, punctuation: str) -> bool:
        """Whether this punctuation comes next; it is then passed."""
        token = self.peek()
        if token.kind != "punctuation" or token.text != punctuation:
            return False
        self._index += 1
        return True

    def starts_line(self) -> bool:
        """Whether the next token is the first one on its line."""
        if self._index == 0:
            return True
        before, token = self._tokens[self._index - 1], self.peek()
        gap = self._text[before.end : token.offset]
        return "\n" in gap or "\r" in gap

    def defines(self, name: str) -> bool:
        """Whether a rule of that name is defined anywhere, without attributes."""
        return name in self._defined

    def syntax_error(self, message: str, offset: int) -> GrammarSyntaxError:
        return syntax_error(message, self._text, offset)

    def unsupported(self, message: str, offset: int) -> UnsupportedFeature:
        line, column = line_and_column(self._text, offset)
        return UnsupportedFeature(f"GBNF: {message}", line=line, column=column)

    def limit_exceeded(self, message: str, limit: str, offset: int) -> LimitExceeded:
        line, column = line_and_column(self._text, offset)
        return LimitExceeded(f"GBNF: {message}", limit=limit, line=line, column=column)


def syntax_error(message: str, text: str, offset: int) -> GrammarSyntaxError:
    line, column = line_and_column(text, offset)
    return GrammarSyntaxError(f"GBNF: {message}", line=line, column=column)


def _unreadable(text: str, offset: int) -> GrammarSyntaxError:
    char = text[offset]
    if char in '"[':
        message = "the class is not closed" if char == "[" else "the literal is not closed"
    elif char == "'":
        message = 'a literal stands in double quotation marks: "..."'
    elif text.startswith(("//", "/*"), offset):
        message = "a comment starts with #"
    else:
        message = f"unexpected character {char!r}"
    return syntax_error(message, text, offset)


def _token(found: re.Match[str], text: str) -> GbnfToken:
    offset, value = found.start(), found[0]
    match found.lastgroup:
        case "literal":
            return GbnfToken("terminal", value, offset, _literal(text, offset + 1, found.end() - 1))
        case "class":
            return GbnfToken("terminal", value, offset, _class(text, offset + 1, found.end() - 1))
        case "name" | "assign" | "vocabulary" as kind:
            return GbnfToken(kind, value, offset)
        case _:
            return GbnfToken("punctuation", value, offset)


def _with_dots(tokens: list[GbnfToken]) -> list[GbnfToken]:
    """A dot belongs to a name for xgrammar, and is any character for llama.cpp.

    So names with dots are those that the grammar defines; elsewhere the dots stand for themselves.
    """
    defined = {
        token.text for token, *behind in zip(tokens, tokens[1:], tokens[2:], strict=False) if is_head(token, *behind)
    }
    found: list[GbnfToken] = []
    for token in tokens:
        if token.kind != "name" or "." not in token.text or token.text in defined:
            found.append(token)
            continue
        for part in _DOTTED.finditer(token.text):
            offset = token.offset + part.start()
            if part[0] == ".":
                found.append(GbnfToken("terminal", ".", offset, ANY_CHAR))
            else:
                found.append(GbnfToken("name", part[0], offset))
    return found


def is_head(token: GbnfToken, after: GbnfToken, then: GbnfToken) -> bool:
    """Whether a rule's head begins here: its name, perhaps attributes, and `::=`."""
    attributes = after.text.startswith("[") and then.kind == "assign"
    return token.kind == "name" and (after.kind == "assign" or attributes)


def _literal(text: str, start: int, end: int) -> Bytes:
    if text.find("\\", start, end) < 0:
        return Bytes(text[start:end].encode())
    chars: list[str] = []
    offset = start
    while offset < end:
        point, after = _read_char(text, offset, _ESCAPES)
        if 0xD800 <= point <= 0xDFFF:
            raise syntax_error("a surrogate is no character", text, offset)
        chars.append(chr(point))
        offset = after
    return Bytes("".join(chars).encode())


def _class(text: str, start: int, end: int) -> CharClass:
    negated = text.startswith("^", start)
    offset = start + negated
    if offset == end:
        raise syntax_error("an empty class", text, start - 1)
    ranges: list[Range] = []
    while offset < end:
        member = offset
        low, offset = _read_char(text, offset, _CLASS_ESCAPES)
        high = low
        if text.startswith("-", offset) and offset + 1 < end:
            high, offset = _read_char(text, offset + 1, _CLASS_ESCAPES)
        if low > high:
            raise syntax_error("the bounds of a range are in the wrong order", text, member)
        ranges.append((low, high))
    return char_class(ranges, negated=negated)


def _read_char(text: str, offset: int, escapes: dict[str, int]) -> tuple[int, int]:
    """One code point, escaped or not, and the offset behind it."""
    found = _CHAR.match(text, offset)
    if found is None:
        raise syntax_error("unexpected end of the text", text, offset)
    if found["plain"]:
        return ord(found["plain"]), found.end()
    if found["escape"]:
        if found["escape"] not in escapes:
            kind = "incomplete" if found["escape"] in "xuU" else "unknown"
            raise syntax_error(f"the {kind} escape \\{found['escape']}", text, offset)
        return escapes[found["escape"]], found.end()
    point = int(found["x"] or found["u"] or found["U"], 16)
    if point > MAX_CODE_POINT:
        raise syntax_error("an escape beyond U+10FFFF", text, offset)
    return point, found.end()
