"""Report on a constraint: what can be said of all its answers without asking a model."""

from __future__ import annotations

from dataclasses import dataclass

from grammar_cache.analysis.ambiguity import UNKNOWN, Ambiguity, ambiguity
from grammar_cache.analysis.lark_ambiguity import lark_ambiguity
from grammar_cache.analysis.text_length import largest_answer
from grammar_cache.analysis.unreachable import unreachable_rules
from grammar_cache.constraint import Constraint
from grammar_cache.dialects.gbnf import compiler as gbnf
from grammar_cache.grammar import CompiledGrammar

MOST_STATES = 50_000
"""States of a network whose longest texts are looked for: two seconds."""


@dataclass(frozen=True, slots=True)
class Report:
    """Facts of a constraint with a vocabulary.

    `finite`: whether answers have a bound without a budget; None: not looked at, for there are more than `MOST_STATES`
    states, or arrays whose items may not repeat. `largest_tokens`: most tokens of an answer, None without a bound;
    `largest_exact`: whether some answer has as many, or else it is an upper bound. `ambiguous`: whether some text of a
    grammar in GBNF or Lark has two derivations, such as `ambiguous_example`; None: not known, or another dialect.
    `unreachable_rules`: names of rules that no text uses.
    """

    finite: bool | None
    largest_tokens: int | None
    largest_exact: bool | None
    ambiguous: bool | None
    ambiguous_example: str | None
    unreachable_rules: tuple[str, ...]


def report(constraint: Constraint, grammar: CompiledGrammar) -> Report:
    """Report on a constraint and the grammar that it compiled to, of which nothing is read that other threads change.

    Raises what parsing the constraint raises.
    """
    known, network = _ambiguity(constraint, grammar), grammar.network
    is_measured = network.states.count <= MOST_STATES and not network.unique
    largest = largest_answer(grammar) if is_measured else None
    return Report(
        finite=largest is not None if is_measured else None,
        largest_tokens=largest.tokens if largest else None,
        largest_exact=largest.exact if largest else None,
        ambiguous=known.ambiguous,
        ambiguous_example=None if known.example is None else known.example.decode(errors="replace"),
        unreachable_rules=unreachable_rules(constraint, grammar.limits, grammar.vocabulary.special),
    )


def _ambiguity(constraint: Constraint, grammar: CompiledGrammar) -> Ambiguity:
    match constraint.kind:
        case "gbnf":
            start, tokens = constraint.start or "root", grammar.vocabulary.special
            return ambiguity(gbnf.parse(constraint.text, start=start, limits=grammar.limits, tokens=tokens))
        case "lark":
            return lark_ambiguity(constraint, grammar.limits)
        case _:
            return UNKNOWN
