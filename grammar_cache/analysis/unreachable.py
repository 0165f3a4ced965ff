"""Rules of a grammar that no text uses, because nothing leads to them from its start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from grammar_cache.constraint import Constraint
from grammar_cache.dialects.gbnf import compiler as gbnf
from grammar_cache.dialects.lark.outline import outline
from grammar_cache.dialects.lark.tokens import tokenize
from grammar_cache.expression import references
from grammar_cache.limits import DEFAULT_LIMITS, Limits
from grammar_cache.special_tokens import UNKNOWN_TOKENIZER, SpecialTokens


def unreachable_rules(
    constraint: Constraint, limits: Limits = DEFAULT_LIMITS, tokens: SpecialTokens = UNKNOWN_TOKENIZER
) -> tuple[str, ...]:
    """Names of the rules, and of Lark's terminals, that the start rule doesn't lead to, in the order of the text.

    None where a constraint has no named rules: those of GBNF and Lark have. Raises what parsing the constraint raises.
    """
    match constraint.kind:
        case "gbnf":
            found = _unreached(*_gbnf(constraint, limits, tokens))
            return tuple(name for name in found if ":" not in name)  # those are made up
        case "lark":
            return _unreached(*_lark(constraint, limits))
        case _:
            return ()


def _gbnf(
    constraint: Constraint, limits: Limits, tokens: SpecialTokens
) -> tuple[Mapping[str, Iterable[str]], Iterable[str]]:
    """Rules that each rule names, and the first one to be reached."""
    start = constraint.start or "root"
    rules = gbnf.parse(constraint.text, start=start, limits=limits, tokens=tokens).rules
    return {name: references(body) for name, body in rules.items()}, [start]


def _lark(constraint: Constraint, limits: Limits) -> tuple[Mapping[str, Iterable[str]], Iterable[str]]:
    found = outline(tokenize(constraint.text, limits), limits)
    named: dict[str, list[str]] = {}
    for definition in found.definitions:  # a rule that is extended has several
        named.setdefault(definition.name.text, []).extend(token.text for token in definition.body)
    return named, [constraint.start or "start", *(token.text for ignored in found.ignores for token in ignored)]


def _unreached(named: Mapping[str, Iterable[str]], first: Iterable[str]) -> tuple[str, ...]:
    todo = list(first)
    reached = set(todo)
    while todo:
        for name in named.get(todo.pop(), ()):
            if name not in reached:
                reached.add(name)
                todo.append(name)
    return tuple(name for name in named if name not in reached)
