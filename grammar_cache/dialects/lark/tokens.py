"""Cutting a Lark grammar text into tokens, as Lark does, but in linear time and with a reason for what is no Lark.

Lark's own patterns for strings and comments can backtrack for ever on a text that isn't closed. So Lark is handed
the `canonical` text of these tokens: the same tokens in the same order, layout and comments reduced to a minimum.
The tokens remember where they stood. Special tokens as terminals (`<think>`), which llguidance adds to the syntax, are
declared terminals for Lark. What else other engines added to the syntax is refused by name.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from grammar_cache.dialects.position import line_and_column
from grammar_cache.errors import GrammarError, GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.limits import Limits

MAX_TOKENS = 50_000
"""Tokens of one grammar text: two seconds of Lark's time. The largest published grammar we know has 12,000."""
MAX_LITERAL = 20_000
"""Characters of one string or regular expression. Lark reads their escapes in quadratic time."""
MAX_DEPTH = 40
"""Brackets inside each other. Lark's own walk over a rule is recursive; published grammars stay below 8."""

# In the order in which Lark tries them. Line ends: one match for what it calls _NL and _NL_OR.
_TOKEN = re.compile(
    r"""(?P<regexp>/(?!/)(?:[^/\\]|\\.)*/[imslux]*)
      | (?P<string>"(?:[^"\\\n]|\\[^\n])*"i?)
      | (?P<comment>\s*//[^\n]*|\s*\#[^\n]*)
      | (?P<rule>_?[a-z][_a-z0-9]*)
      | (?P<terminal>_?[A-Z][_A-Z0-9]*)
      | (?P<newline>\r?\n\s*\|?)
      | (?P<continuation>\\[ ]*\n)
      | (?P<special><(?:\[[^\]\n]*\]|[^<>\n]+)>)
      | (?P<number>[+-]?[0-9]+)
      | (?P<space>[ \t]+)
      | (?P<directive>%(?:override|declare|extend|ignore|import))
      | (?P<modifiers>(?:!|!\??|\?!?)(?=[_a-z]))
      | (?P<punctuation>\.\.|->|[+*]|\?(?![a-z_])|\.(?!\.)|[\[\]{}()|~:,])""",
    re.VERBOSE | re.DOTALL,
)
_LAYOUT = frozenset({"comment", "continuation", "space"})
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r"%\w+")
_OPENING = {"(": ")", "[": "]", "{": "}"}
_FOREIGN = {
    "&": "an intersection of terminals",
    "@": "a reference to another grammar",
}
_Error = TypeVar("_Error", bound=GrammarError)


@dataclass(frozen=True, slots=True)
class LarkToken:
    """`kind` is a group of the pattern above, "newline" only where a statement ends. `text` is as it stands there."""

    kind: str
    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class Source:
    """A grammar text and its tokens without layout. `starts` are the tokens' offsets in `canonical`.

    `special`: what is written `<…>`, by the name of the terminal that stands for it in `canonical`.
    """

    text: str
    tokens: tuple[LarkToken, ...]
    canonical: str
    starts: tuple[int, ...]
    special: Mapping[str, LarkToken]

    def error(self, kind: type[_Error], message: str, offset: int, **more: str) -> _Error:
        """A refusal of that kind, about a place in the text."""
        return refusal(kind, message, self.text, offset, **more)

    def original(self, offset: int) -> int:
        """Offset in the text of a place in the canonical text."""
        if not self.tokens or offset >= len(self.canonical):
            return len(self.text)
        return self.tokens[max(0, bisect_right(self.starts, offset) - 1)].offset


def refusal(kind: type[_Error], message: str, text: str, offset: int, **more: str) -> _Error:
    """A refusal of that kind with line and column; `more` is the name of a limit."""
    line, column = line_and_column(text, offset)
    return kind(f"Lark: {message}", line=line, column=column, **more)


def tokenize(text: str, limits: Limits) -> Source:
    """Raises a `GrammarError` with line and column for what Lark can't read, and for what is too large or too deep."""
    stray = _SURROGATE.search(text)
    if stray:
        raise refusal(GrammarSyntaxError, "a lone surrogate", text, stray.start())
    tokens: list[LarkToken] = []
    pieces: list[str] = []
    starts: list[int] = []
    special: dict[str, LarkToken] = {}
    offset = length = 0
    while offset < len(text):
        found = _TOKEN.match(text, offset)
        if found is None or found.lastgroup is None:
            raise _unreadable(text, offset)
        piece = " "
        if found.lastgroup not in _LAYOUT:
            token = _token(found)
            piece = "\n" if token.kind == "newline" else "\n|" if found.lastgroup == "newline" else token.text
            if token.kind == "special":
                piece = _declared(token, special, text)
            tokens.append(token)
            starts.append(length)
            if token.kind in {"string", "regexp"} and len(token.text) > MAX_LITERAL:
                message = f"a terminal of more than {MAX_LITERAL} characters"
                raise refusal(LimitExceeded, message, text, offset, limit="text_bytes")
            if len(tokens) > MAX_TOKENS:
                message = f"more than {MAX_TOKENS} symbols"
                raise refusal(LimitExceeded, message, text, offset, limit="text_bytes")
        pieces.append(piece)
        length += len(piece)
        offset = found.end()
    _check_brackets(text, tokens, min(MAX_DEPTH, limits.nesting))
    _refuse_extensions(text, tokens)
    declarations = f"\n%declare {' '.join(special)}" if special else ""
    return Source(text, tuple(tokens), "".join(pieces) + declarations, tuple(starts), special)


def _declared(token: LarkToken, special: dict[str, LarkToken], text: str) -> str:
    """Name of the terminal that stands for a special token; no other one of the grammar has it."""
    for name, known in special.items():
        if known.text == token.text:
            return name
    mark = "SPECIAL"
    while mark in text:
        mark += "_"
    name = f"{mark}_{len(special)}"
    special[name] = token
    return name


def _token(found: re.Match[str]) -> LarkToken:
    kind, value = found.lastgroup or "", found[0]
    if kind == "newline" and value.endswith("|"):
        return LarkToken("punctuation", "|", found.end() - 1)
    return LarkToken(kind, value, found.start())


def _unreadable(text: str, offset: int) -> GrammarError:
    char = text[offset]
    if text.startswith("::_", offset - 2):
        return refusal(UnsupportedFeature, "a parametric rule", text, offset - 2)
    word = _WORD.match(text, offset)
    if word:
        return refusal(UnsupportedFeature, f"the directive {word[0]}", text, offset)
    bracket = text.find("[", text.rfind("\n", 0, offset) + 1, offset)
    if char == "=" and bracket >= 0:
        return refusal(UnsupportedFeature, "an attribute of a rule", text, bracket)
    if char in _FOREIGN:
        return refusal(UnsupportedFeature, _FOREIGN[char], text, offset)
    message = {
        '"': "the string is not closed on its line",
        "/": "the regular expression is not closed",
        "_": "a name starts with one underscore at most, then a letter",
    }
    return refusal(GrammarSyntaxError, message.get(char, f"unexpected character {char!r}"), text, offset)


def _check_brackets(text: str, tokens: list[LarkToken], deepest: int) -> None:
    """Every bracket is closed by its like, within a statement, and none is too deep."""
    opened: list[LarkToken] = []
    for token in tokens:
        if token.kind == "newline" and opened:
            raise refusal(GrammarSyntaxError, f"{opened[-1].text} is not closed", text, opened[-1].offset)
        if token.kind != "punctuation":
            continue
        if token.text in _OPENING:
            opened.append(token)
            if len(opened) > deepest:
                message = f"more than {deepest} levels of nesting"
                raise refusal(LimitExceeded, message, text, token.offset, limit="nesting")
        elif token.text in ")]}" and (not opened or _OPENING[opened.pop().text] != token.text):
            raise refusal(GrammarSyntaxError, f"unexpected {token.text}", text, token.offset)
    if opened:
        raise refusal(GrammarSyntaxError, f"{opened[-1].text} is not closed", text, opened[-1].offset)


def _refuse_extensions(text: str, tokens: list[LarkToken]) -> None:
    """Refuses what consists of Lark's tokens but is another engine's: `a{2,3}`, `~A`, `a::1`, `a[lazy]: ...`."""
    begins = True
    for token, after in pairwise(tokens):
        kind, following = token.kind, (token.text, after.text)
        if begins and kind in {"rule", "terminal"} and after.text == "[":
            raise refusal(UnsupportedFeature, "an attribute of a rule", text, after.offset)
        if token.text == "{" and (after.kind == "number" or after.text == ","):
            raise refusal(UnsupportedFeature, "a repetition in braces: write ~ 2..3", text, token.offset)
        if following == (":", ":"):
            raise refusal(UnsupportedFeature, "a parametric rule", text, token.offset)
        if token.text == "~" and after.kind != "number":
            raise refusal(UnsupportedFeature, "the complement of a terminal", text, token.offset)
        begins = kind == "newline" or (begins and kind == "modifiers")
