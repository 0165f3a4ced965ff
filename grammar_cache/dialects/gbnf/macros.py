"""Calls that xgrammar's EBNF adds to GBNF: reading their arguments, and what `Regex` and `Substring` mean.

`Regex("a+", flags="i")` is a regular expression for a whole part of the text. `Substring("a", "b", "c")` is any run
of neighbours among its arguments, the empty one included. This module knows no rules but those it makes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from grammar_cache.dialects.combine import sequence
from grammar_cache.dialects.gbnf.tokens import GbnfToken, TokenStream
from grammar_cache.dialects.regex import compiler as regex
from grammar_cache.errors import GrammarError, LimitExceeded, UnsupportedFeature
from grammar_cache.expression import EMPTY, Alt, And, Bytes, Expression, Ref, Repeat, char_class
from grammar_cache.limits import Limits

Value: TypeAlias = "GbnfToken | tuple[GbnfToken, ...]"

_IN_JSON_STRING = char_class([(0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C)], negated=True)
"""Characters that a JSON string holds as themselves."""


@dataclass(slots=True)
class Arguments:
    """Arguments in the parentheses of a call; a tuple is a list of tokens in parentheses of its own."""

    values: list[Value] = field(default_factory=list)
    named: dict[str, tuple[GbnfToken, Value]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Made:
    """Expansion of a call: its expression, the rules that it needs, and the size of its expressions in nodes."""

    expression: Expression
    rules: dict[str, Expression] = field(default_factory=dict)
    size: int = 1


def read_arguments(stream: TokenStream, macro: GbnfToken) -> Arguments:
    """The arguments of the call, from behind its opening parenthesis to behind the closing one."""
    found = Arguments()
    while not stream.take(")"):
        name = stream.peek()
        if name.kind == "name" and stream.peek(1).text == "=":
            stream.next()
            stream.next()
            if name.text in found.named:
                raise stream.syntax_error(f"the argument {name.text} is given twice", name.offset)
            found.named[name.text] = (name, _value(stream))
        elif found.named:
            raise stream.syntax_error("an argument without a name behind one with a name", name.offset)
        else:
            found.values.append(_value(stream))
        if not stream.take(",") and stream.peek().text != ")":
            raise stream.syntax_error(f"expected , or ) in the call of {macro.text}", stream.peek().offset)
    return found


def _value(stream: TokenStream) -> Value:
    token = stream.peek()
    if not stream.take("("):
        return _single(stream)
    items: list[GbnfToken] = []
    while not stream.take(")"):
        items.append(_single(stream))
        if not stream.take(",") and stream.peek().text != ")":
            raise stream.syntax_error("expected , or ) in a list", stream.peek().offset)
    if not items:
        raise stream.syntax_error("an empty list", token.offset)
    return tuple(items)


def _single(stream: TokenStream) -> GbnfToken:
    token = stream.next()
    if token.kind != "name" and not isinstance(token.terminal, Bytes):
        raise stream.syntax_error("expected a literal, a name or a number", token.offset)
    return token


def string(stream: TokenStream, value: Value) -> str:
    """The text of an argument that must be a literal."""
    token = value if isinstance(value, GbnfToken) else value[0]
    if not isinstance(value, GbnfToken) or not isinstance(value.terminal, Bytes):
        raise stream.syntax_error("expected a literal", token.offset)
    return value.terminal.data.decode()


def boolean(stream: TokenStream, value: Value) -> bool:
    token = value if isinstance(value, GbnfToken) else value[0]
    if not isinstance(value, GbnfToken) or value.text not in {"true", "false"}:
        raise stream.syntax_error("expected true or false", token.offset)
    return value.text == "true"


def only_named(stream: TokenStream, arguments: Arguments, macro: GbnfToken, known: set[str]) -> None:
    for name, (token, _) in arguments.named.items():
        if name not in known:
            raise stream.unsupported(f"the argument {name} of {macro.text}", token.offset)


def regex_macro(stream: TokenStream, macro: GbnfToken, arguments: Arguments, limits: Limits) -> Made:
    """`Regex(pattern, flags=..., json_string=...)`.

    As xgrammar reads it, a dot is any character where `flags` isn't given; where it is, the flag s decides.
    `json_string=true` keeps to texts that a JSON string holds unescaped.
    """
    only_named(stream, arguments, macro, {"flags", "json_string"})
    if len(arguments.values) != 1:
        raise stream.syntax_error("Regex takes one pattern", macro.offset)
    pattern = string(stream, arguments.values[0])
    ignore_case, dot_all = False, True
    if "flags" in arguments.named:
        token, value = arguments.named["flags"]
        flags = string(stream, value)
        unknown = sorted(set(flags) - set("isu"))
        if unknown:
            raise stream.unsupported(f"the flag {unknown[0]} of Regex", token.offset)
        ignore_case, dot_all = "i" in flags, "s" in flags
    expression = _pattern(stream, macro, pattern, limits, ignore_case=ignore_case, dot_all=dot_all)
    size = regex.size(expression)
    if "json_string" in arguments.named and boolean(stream, arguments.named["json_string"][1]):
        expression = And((expression, Repeat(_IN_JSON_STRING, 0, None)))
    return Made(expression, size=size + 2)


def _pattern(
    stream: TokenStream, macro: GbnfToken, pattern: str, limits: Limits, *, ignore_case: bool, dot_all: bool
) -> Expression:
    """The pattern's expression; what is wrong with it is said at the place of the call."""
    try:
        return regex.parse(pattern, ignore_case=ignore_case, dot_all=dot_all, limits=limits)
    except LimitExceeded as error:
        raise stream.limit_exceeded(_in_pattern(error), error.limit, macro.offset) from error
    except UnsupportedFeature as error:
        raise stream.unsupported(_in_pattern(error), macro.offset) from error
    except GrammarError as error:
        raise stream.syntax_error(_in_pattern(error), macro.offset) from error


def _in_pattern(error: GrammarError) -> str:
    return f"{error.message}, at line {error.line}, column {error.column} of the pattern"


def substring_macro(stream: TokenStream, macro: GbnfToken, arguments: Arguments, prefix: str, limits: Limits) -> Made:
    """`Substring(chunk, ...)`: the chunks from some place to some place, one rule for each state of their automaton."""
    only_named(stream, arguments, macro, set())
    chunks = [string(stream, value).encode() for value in arguments.values]
    if len(chunks) > limits.rules:
        raise stream.limit_exceeded(f"more than {limits.rules} chunks", "rules", macro.offset)
    moves = _suffix_automaton([chunk for chunk in chunks if chunk])
    rules: dict[str, Expression] = {}
    for state, edges in enumerate(moves):
        options = [sequence((Bytes(chunk), Ref(f"{prefix}{to}"))) for chunk, to in edges.items()]
        rules[f"{prefix}{state}"] = Alt((EMPTY, *options))
    size = sum(3 + 3 * len(edges) for edges in moves)
    return Made(Ref(f"{prefix}0"), rules, size)


def _suffix_automaton(chunks: list[bytes]) -> list[dict[bytes, int]]:
    """The moves of the automaton of all runs of chunks, with fewer than two states a chunk (Blumer et al., 1985)."""
    moves: list[dict[bytes, int]] = [{}]
    length, link = [0], [-1]
    last = 0
    for chunk in chunks:
        new = len(moves)
        moves.append({})
        length.append(length[last] + 1)
        link.append(0)
        at = last
        while at != -1 and chunk not in moves[at]:
            moves[at][chunk] = new
            at = link[at]
        if at != -1:
            old = moves[at][chunk]
            if length[old] == length[at] + 1:
                link[new] = old
            else:
                copy = len(moves)
                moves.append(dict(moves[old]))
                length.append(length[at] + 1)
                link.append(link[old])
                link[old] = link[new] = copy
                while at != -1 and moves[at].get(chunk) == old:
                    moves[at][chunk] = copy
                    at = link[at]
        last = new
    return moves
