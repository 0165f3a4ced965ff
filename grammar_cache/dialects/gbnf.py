"""GBNF, as llama.cpp reads it, with the layout, names and escapes that xgrammar's EBNF adds.

Terminals are code points. Recursion of any kind is welcome. What is about tokens (`<think>`, `<[1]>`) or
about what follows a rule (`(= ...)`), and xgrammar's macros and rule attributes, is refused as unsupported; a
rule defined twice is an error (llama.cpp would silently take the last). This module knows no automaton.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from grammar_cache.dialects.combine import repetition, sequence, union
from grammar_cache.dialects.gbnf_tokens import Token, syntax_error, tokenize
from grammar_cache.dialects.position import line_and_column
from grammar_cache.errors import LimitExceeded, UnsupportedFeature
from grammar_cache.expression import Expression, Grammar, Ref
from grammar_cache.limits import Limits

MAX_COUNT = 10**9
"""Counts in braces beyond this are taken for an attack."""

_DEFAULT = Limits()
_MACROS = frozenset({"TagDispatch", "Token", "ExcludeToken", "TokenTagDispatch", "Regex", "Substring"})


def parse(text: str, *, start: str = "root", limits: Limits = _DEFAULT) -> Grammar:
    """The grammar whose whole texts are those of the rule `start`."""
    if len(text.encode(errors="surrogatepass")) > limits.text_bytes:
        raise LimitExceeded(f"GBNF: longer than {limits.text_bytes} bytes", limit="text_bytes", line=1, column=1)
    return _Parser(text, limits).grammar(start)


@dataclass(frozen=True, slots=True)
class _Item:
    expression: Expression
    height: int = 0
    """Groups and quantifiers inside each other."""


@dataclass(slots=True)
class _Group:
    """An open parenthesis, or the body of a rule."""

    opened: int
    branches: list[Expression] = field(default_factory=list)
    items: list[_Item] = field(default_factory=list)
    height: int = 0

    def end_branch(self) -> None:
        self.height = max(self.height, *(item.height for item in self.items), 0)
        self.branches.append(sequence(item.expression for item in self.items))
        self.items = []

    def closed(self) -> _Item:
        self.end_branch()
        only = self.branches[0] if len(self.branches) == 1 else union(self.branches)
        return _Item(only, self.height + 1)


class _Parser:
    def __init__(self, text: str, limits: Limits) -> None:
        self._text = text
        self._limits = limits
        self._tokens = tokenize(text)
        self._index = 0
        self._uses: dict[str, int] = {}

    def grammar(self, start: str) -> Grammar:
        rules: dict[str, Expression] = {}
        while (token := self._peek()).kind != "end":
            name = self._rule_name(token)
            if name in rules:
                raise syntax_error(f"a second rule {name}", self._text, token.offset)
            if len(rules) >= self._limits.rules:
                raise self._limit_exceeded(f"more than {self._limits.rules} rules", "rules", token.offset)
            rules[name] = self._body()
        for name, offset in self._uses.items():
            if name not in rules:
                raise syntax_error(f"the rule {name} is not defined", self._text, offset)
        if start not in rules:
            raise syntax_error(f"there is no rule {start} to start with", self._text, 0)
        return Grammar(rules, start)

    def _peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self._index + ahead, len(self._tokens) - 1)]

    def _rule_starts(self) -> bool:
        """Whether `name ::=` comes next, or `name[attributes] ::=`."""
        if self._peek().kind != "name":
            return False
        after = self._peek(1)
        return after.kind == "assign" or (after.text.startswith("[") and self._peek(2).kind == "assign")

    def _rule_name(self, token: Token) -> str:
        if not self._rule_starts():
            raise syntax_error("expected a rule: a name and ::=", self._text, token.offset)
        if self._peek(1).kind != "assign":
            raise self._unsupported("rule attributes", self._peek(1).offset)
        if self._index and not self._line_ends_before(token):
            raise syntax_error("a rule starts on a line of its own", self._text, token.offset)
        self._index += 2
        return token.text

    def _line_ends_before(self, token: Token) -> bool:
        before = self._tokens[self._index - 1]
        gap = self._text[before.offset + len(before.text) : token.offset]
        return "\n" in gap or "\r" in gap

    def _body(self) -> Expression:
        """Up to the next rule or the end, with an explicit stack of open parentheses."""
        stack = [_Group(self._peek().offset)]
        while not (self._rule_starts() or self._peek().kind == "end"):
            token = self._peek()
            self._index += 1
            if token.terminal is not None:
                stack[-1].items.append(_Item(token.terminal))
            elif token.kind == "name":
                stack[-1].items.append(self._reference(token))
            elif token.text == "|":
                stack[-1].end_branch()
            elif token.text == "(":
                self._open(stack, token)
            elif token.text == ")" and len(stack) > 1:
                item = self._checked(stack.pop().closed(), token)
                stack[-1].items.append(item)
            elif token.text in {"*", "+", "?", "{"}:
                self._quantify(stack[-1].items, token)
            elif token.kind == "vocabulary":
                raise self._unsupported("a token as terminal", token.offset)
            else:
                raise syntax_error(f"unexpected {token.text}", self._text, token.offset)
        if len(stack) > 1:
            raise syntax_error("the parenthesis is not closed", self._text, stack[-1].opened)
        return stack[0].closed().expression

    def _open(self, stack: list[_Group], token: Token) -> None:
        following = self._peek()
        if following.text == "=" and following.offset == token.offset + 1:
            raise self._unsupported("a lookahead assertion", token.offset)
        if len(stack) > self._limits.nesting:
            raise self._too_deep(token)
        stack.append(_Group(token.offset))

    def _reference(self, token: Token) -> _Item:
        following = self._peek()
        calls = following.text == "(" and following.offset == token.offset + len(token.text)
        if token.text in _MACROS and calls:
            raise self._unsupported(f"the macro {token.text}", token.offset)
        self._uses.setdefault(token.text, token.offset)
        return _Item(Ref(token.text))

    def _quantify(self, items: list[_Item], token: Token) -> None:
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        least, most = simple.get(token.text) or self._counts(token)
        if not items:
            raise syntax_error(f"nothing to repeat before {token.text}", self._text, token.offset)
        item = items.pop()
        repeated = _Item(repetition(item.expression, least, most), item.height + 1)
        items.append(self._checked(repeated, token))

    def _counts(self, brace: Token) -> tuple[int, int | None]:
        """`{m}`, `{m,}`, `{m,n}`, `{,n}`; also `{m,-1}`, which xgrammar prints for `{m,}`."""
        first = self._count()
        comma = self._peek().text == ","
        if comma:
            self._index += 1
        if comma and self._peek().text == "-1":
            self._index += 1
            last = None
        else:
            last = self._count() if comma else first
        if self._peek().text != "}" or (first is None and last is None):
            raise syntax_error("expected a count", self._text, self._peek().offset)
        self._index += 1
        least = first or 0
        if last is not None and last < least:
            message = f"the counts {least} and {last} are in the wrong order"
            raise syntax_error(message, self._text, brace.offset)
        return least, last

    def _count(self) -> int | None:
        """The number that comes next, if one does."""
        token = self._peek()
        if token.kind != "name" or not token.text.isdecimal():
            return None
        self._index += 1
        digits = token.text.lstrip("0") or "0"
        if len(digits) > 10 or int(digits) > MAX_COUNT:
            raise self._limit_exceeded(f"a count beyond {MAX_COUNT}", "expression_size", token.offset)
        return int(digits)

    def _checked(self, item: _Item, token: Token) -> _Item:
        if item.height > self._limits.nesting:
            raise self._too_deep(token)
        return item

    def _too_deep(self, token: Token) -> LimitExceeded:
        message = f"more than {self._limits.nesting} levels of nesting"
        return self._limit_exceeded(message, "nesting", token.offset)

    def _limit_exceeded(self, message: str, limit: str, offset: int) -> LimitExceeded:
        line, column = line_and_column(self._text, offset)
        return LimitExceeded(f"GBNF: {message}", limit=limit, line=line, column=column)

    def _unsupported(self, message: str, offset: int) -> UnsupportedFeature:
        line, column = line_and_column(self._text, offset)
        return UnsupportedFeature(f"GBNF: {message}", line=line, column=column)
