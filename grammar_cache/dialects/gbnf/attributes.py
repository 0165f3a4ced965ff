"""Attributes of rules in xgrammar's EBNF, `name[lazy, max_chars=8] ::= ...`, as intersections and complements.

A lazy rule ends at the first place where it can: no text of it begins with a shorter one. Both need a rule that
is a regular language, so neither may lead back to itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from grammar_cache.algorithms.strong_components import components
from grammar_cache.dialects.gbnf.tokens import GbnfToken, TokenStream
from grammar_cache.expression import ANY_CHAR, And, Expression, Grammar, Not, Repeat, Seq, references
from grammar_cache.limits import Limits

STATES_PER_CHAR = 8
"""States of an automaton that counts any characters, for each of them: those inside UTF-8 included."""

_ATTRIBUTE = re.compile(r"\s*([a-z_]+)\s*(?:=\s*([^,]*?)\s*)?(?:,|$)")
_OTHERS = ("capture", "temperature", "max_tokens", "stop", "suffix")


@dataclass(frozen=True, slots=True)
class Attributes:
    """`max_chars` counts code points; `offset` is where the attributes stand."""

    lazy: bool
    max_chars: int | None
    offset: int


def read_attributes(stream: TokenStream, token: GbnfToken, limits: Limits) -> Attributes:
    """The attributes in the brackets of a token."""
    inside = token.text[1:-1]
    lazy, max_chars = False, None
    at = 0
    while at < len(inside):
        found = _ATTRIBUTE.match(inside, at)
        if found is None:
            raise stream.syntax_error("expected rule attributes: lazy, max_chars=n", token.offset)
        name, value = found[1], found[2]
        if name in _OTHERS:
            raise stream.unsupported(f"the rule attribute {name}", token.offset)
        if name == "lazy" and value is None and not lazy:
            lazy = True
        elif name == "max_chars" and max_chars is None and value and value.isdecimal() and value.isascii():
            max_chars = _count(stream, token, value, limits.rule_states // STATES_PER_CHAR)
        else:
            raise stream.syntax_error(f"the rule attribute {found[0].strip(' ,')}", token.offset)
        at = found.end()
    return Attributes(lazy, max_chars, token.offset)


def _count(stream: TokenStream, token: GbnfToken, digits: str, most: int) -> int:
    digits = digits.lstrip("0")
    if not digits:
        raise stream.syntax_error("max_chars must be at least 1", token.offset)
    if len(digits) > 10 or int(digits) > most:
        raise stream.limit_exceeded(f"max_chars beyond {most}", "rule_states", token.offset)
    return int(digits)


def with_attributes(body: Expression, attributes: Attributes) -> Expression:
    """The texts of the body that the attributes leave."""
    conditions: list[Expression] = []
    if attributes.max_chars is not None:
        conditions.append(Repeat(ANY_CHAR, 0, attributes.max_chars))
    if attributes.lazy:
        conditions.append(Not(Seq((body, Repeat(ANY_CHAR, 1, None)))))
    return And((body, *conditions)) if conditions else body


def check_regular(stream: TokenStream, grammar: Grammar, attributed: dict[str, Attributes]) -> None:
    """Refuses attributes of a rule from which a recursive rule is reached."""
    names = list(grammar.rules)
    number = {name: index for index, name in enumerate(names)}
    calls = [[number[called] for called in references(body)] for body in grammar.rules.values()]
    component, cyclic = components(calls)
    recursive = {index for index in range(len(names)) if cyclic[component[index]]}
    for name, attributes in attributed.items():
        todo = [number[name]]
        seen = set(todo)
        while todo:
            at = todo.pop()
            if at in recursive:
                message = f"attributes of the rule {name}, which leads to the recursive rule {names[at]}"
                raise stream.unsupported(message, attributes.offset)
            todo += [called for called in calls[at] if called not in seen]
            seen.update(calls[at])
