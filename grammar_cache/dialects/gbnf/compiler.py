"""GBNF, as llama.cpp reads it, with the layout, names, escapes, calls and rule attributes of xgrammar's EBNF.

Terminals are code points, and special tokens (`special_terminals`). Recursion of any kind is welcome. Assertions of
what follows a rule (`(= ...)`) are refused as unsupported. Where the two disagree, a text that one of them refuses has
the other's meaning; `\\x` takes two digits, as in llama.cpp (xgrammar takes all that follow); and a rule defined twice
is an error, as in xgrammar (llama.cpp would silently take the last). This module knows no automaton.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from grammar_cache.dialects.combine import repetition, sequence, union
from grammar_cache.dialects.gbnf.attributes import Attributes, check_regular, read_attributes, with_attributes
from grammar_cache.dialects.gbnf.dispatch import rules_of, tag_dispatch
from grammar_cache.dialects.gbnf.macros import Made, read_arguments, regex_macro, substring_macro
from grammar_cache.dialects.gbnf.special_terminals import TOKEN_MACROS, SpecialTerminals
from grammar_cache.dialects.gbnf.tokens import GbnfToken, TokenStream, is_head
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Expression, Grammar, Ref
from grammar_cache.limits import DEFAULT_LIMITS, Limits
from grammar_cache.special_tokens import NO_TOKENS, SpecialTokens

MAX_COUNT = 10**9
"""Counts in braces beyond this are taken for an attack."""

SHOWN = 8
"""Rules that the message about a missing start rule names."""

_MACROS = frozenset({"TagDispatch", "Regex", "Substring"}) | TOKEN_MACROS


def parse(
    text: str, *, start: str = "root", limits: Limits = DEFAULT_LIMITS, tokens: SpecialTokens = NO_TOKENS
) -> Grammar:
    """The grammar whose whole texts are those of the rule `start`; `tokens` may be terminals."""
    if len(text.encode(errors="surrogatepass")) > limits.text_bytes:
        raise LimitExceeded(f"GBNF: longer than {limits.text_bytes} bytes", limit="text_bytes", line=1, column=1)
    return _Parser(text, limits, tokens).grammar(start)


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
    def __init__(self, text: str, limits: Limits, tokens: SpecialTokens) -> None:
        self._stream = TokenStream(text)
        self._special = SpecialTerminals(self._stream, tokens)
        self._limits = limits
        self._rules: dict[str, Expression] = {}
        self._made: dict[str, Expression] = {}
        self._made_size = 0
        self._attributed: dict[str, Attributes] = {}
        self._uses: dict[str, int] = {}

    def grammar(self, start: str) -> Grammar:
        stream = self._stream
        while (token := stream.peek()).kind != "end":
            attributes = self._rule_head()
            name = token.text
            if name in self._rules:
                raise stream.syntax_error(f"a second rule {name}", token.offset)
            body = self._body()
            if attributes is not None:
                self._attributed[name] = attributes
                body = with_attributes(body, attributes)
            self._rules[name] = body
            self._check_rules(token)
        for name, offset in self._uses.items():
            if name not in self._rules:
                raise stream.syntax_error(f"the rule {name} is not defined", offset)
        if start not in self._rules:
            raise stream.syntax_error(self._without_start(start), 0)
        grammar = Grammar({**self._rules, **self._made}, start)
        if self._attributed:
            if self._special.used:
                offset = next(iter(self._attributed.values())).offset
                raise stream.unsupported("attributes of a rule in a grammar with special tokens", offset)
            check_regular(stream, grammar, self._attributed)
        return grammar

    def _check_rules(self, token: GbnfToken) -> None:
        if len(self._rules) + len(self._made) > self._limits.rules:
            message = f"more than {self._limits.rules} rules"
            raise self._stream.limit_exceeded(message, "rules", token.offset)

    def _without_start(self, start: str) -> str:
        """Names the rules that no other one uses, since one of them is meant, or else the first ones."""
        message = f"there is no rule {start} to start with"
        candidates = [name for name in self._rules if name not in self._uses] or list(self._rules)
        if not candidates:
            return message
        more = ", ..." if len(candidates) > SHOWN else ""
        return f"{message}; candidates: {', '.join(candidates[:SHOWN])}{more}"

    def _rule_starts(self) -> bool:
        """Whether `name ::=` comes next, or `name[attributes] ::=`."""
        return is_head(*map(self._stream.peek, range(3)))

    def _rule_head(self) -> Attributes | None:
        stream = self._stream
        token = stream.peek()
        if not self._rule_starts():
            raise stream.syntax_error("expected a rule: a name and ::=", token.offset)
        if not stream.starts_line():
            raise stream.syntax_error("a rule starts on a line of its own", token.offset)
        stream.next()
        after = stream.next()
        if after.kind == "assign":
            return None
        stream.next()
        return read_attributes(stream, after, self._limits)

    def _body(self) -> Expression:
        """Up to the next rule or the end, with an explicit stack of open parentheses."""
        stream = self._stream
        stack = [_Group(stream.peek().offset)]
        while not (self._rule_starts() or stream.peek().kind == "end"):
            token = stream.next()
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
                stack[-1].items.append(_Item(self._special.written(token)))
            else:
                raise stream.syntax_error(f"unexpected {token.text}", token.offset)
        if len(stack) > 1:
            raise stream.syntax_error("the parenthesis is not closed", stack[-1].opened)
        return stack[0].closed().expression

    def _open(self, stack: list[_Group], token: GbnfToken) -> None:
        following = self._stream.peek()
        if following.text == "=" and following.offset == token.end:
            raise self._stream.unsupported("a lookahead assertion", token.offset)
        if len(stack) > self._limits.nesting:
            raise self._too_deep(token)
        stack.append(_Group(token.offset))

    def _reference(self, token: GbnfToken) -> _Item:
        if token.text in _MACROS and self._stream.peek().text == "(":
            if not self._stream.defines(token.text):
                return self._macro(token)
            if self._stream.peek().offset == token.end:
                message = f"{token.text} is both a rule and a call: put a space before the parenthesis for the rule"
                raise self._stream.unsupported(message, token.offset)
        self._uses.setdefault(token.text, token.offset)
        return _Item(Ref(token.text))

    def _macro(self, token: GbnfToken) -> _Item:
        stream = self._stream
        stream.next()
        arguments = read_arguments(stream, token)
        left = max(0, self._limits.expression_size - self._made_size)
        limits = replace(self._limits, expression_size=left)
        prefix = f"{token.text}:{token.offset}:"  # no rule of a user's has a colon in its name
        if token.text == "Regex":
            made = regex_macro(stream, token, arguments, limits)
        elif token.text in TOKEN_MACROS:
            made = self._special.called(token, arguments)
        elif token.text == "Substring":
            made = substring_macro(stream, token, arguments, prefix, limits)
        else:
            made = tag_dispatch(stream, token, arguments, prefix, limits)
        for rule in rules_of(arguments) if token.text in {"TagDispatch", "TokenTagDispatch"} else ():
            self._uses.setdefault(rule.text, rule.offset)
        return self._kept(made, token)

    def _kept(self, made: Made, token: GbnfToken) -> _Item:
        self._made.update(made.rules)
        self._check_rules(token)
        self._made_size += made.size
        if self._made_size > self._limits.expression_size:
            message = f"calls that need more than {self._limits.expression_size} nodes"
            raise self._stream.limit_exceeded(message, "expression_size", token.offset)
        return _Item(made.expression)

    def _quantify(self, items: list[_Item], token: GbnfToken) -> None:
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        least, most = simple.get(token.text) or self._counts(token)
        if not items:
            raise self._stream.syntax_error(f"nothing to repeat before {token.text}", token.offset)
        item = items.pop()
        repeated = _Item(repetition(item.expression, least, most), item.height + 1)
        items.append(self._checked(repeated, token))

    def _counts(self, brace: GbnfToken) -> tuple[int, int | None]:
        """`{m}`, `{m,}`, `{m,n}`, `{,n}`; also `{m,-1}`, which xgrammar prints for `{m,}`."""
        stream = self._stream
        first = self._count()
        comma = stream.take(",")
        if comma and stream.peek().text == "-1":
            stream.next()
            last = None
        else:
            last = self._count() if comma else first
        if stream.peek().text != "}" or (first is None and last is None):
            raise stream.syntax_error("expected a count", stream.peek().offset)
        stream.next()
        least = first or 0
        if last is not None and last < least:
            message = f"the counts {least} and {last} are in the wrong order"
            raise stream.syntax_error(message, brace.offset)
        return least, last

    def _count(self) -> int | None:
        """The number that comes next, if one does."""
        stream = self._stream
        token = stream.peek()
        if token.kind != "name" or not token.text.isdecimal():
            return None
        stream.next()
        digits = token.text.lstrip("0") or "0"
        if len(digits) > 10 or int(digits) > MAX_COUNT:
            raise stream.limit_exceeded(f"a count beyond {MAX_COUNT}", "expression_size", token.offset)
        return int(digits)

    def _checked(self, item: _Item, token: GbnfToken) -> _Item:
        if item.height > self._limits.nesting:
            raise self._too_deep(token)
        return item

    def _too_deep(self, token: GbnfToken) -> LimitExceeded:
        message = f"more than {self._limits.nesting} levels of nesting"
        return self._stream.limit_exceeded(message, "nesting", token.offset)
