"""Report on a constraint: what can be said of all its answers without asking a model."""

from __future__ import annotations

from dataclasses import dataclass

from grammar_cache.analysis.text_length import largest_answer
from grammar_cache.analysis.unreachable import unreachable_rules
from grammar_cache.constraint import Constraint
from grammar_cache.grammar import CompiledGrammar


@dataclass(frozen=True, slots=True)
class Report:
    """Facts of a constraint with a vocabulary.

    `finite`: whether answers have a bound without a budget. `largest_tokens`: most tokens of an answer, None without a
    bound; `largest_exact`: whether some answer has as many, or else it is an upper bound. `unreachable_rules`: names of
    rules that no text uses.
    """

    finite: bool
    largest_tokens: int | None
    largest_exact: bool | None
    unreachable_rules: tuple[str, ...]


def report(constraint: Constraint, grammar: CompiledGrammar) -> Report:
    """Report on a constraint and the grammar that it compiled to, of which nothing is read that other threads change.

    Raises what parsing the constraint raises.
    """
    largest = largest_answer(grammar)
    return Report(
        finite=largest is not None,
        largest_tokens=largest.tokens if largest else None,
        largest_exact=largest.exact if largest else None,
        unreachable_rules=unreachable_rules(constraint, grammar.limits, grammar.vocabulary.special),
    )
