"""LALR(1) table over bytes: a grammar whose table has no conflicts is unambiguous.

Lark makes the table. Each state of a rule's automaton is a nonterminal, which reads a byte, or calls a rule, and goes
on with the state behind; so derivations are paths through the automata.
"""

from __future__ import annotations

from lark.common import ParserConf
from lark.exceptions import GrammarError
from lark.grammar import NonTerminal, Rule, Terminal
from lark.parsers.lalr_analysis import LALR_Analyzer

from grammar_cache.analysis.rule_automata import RuleAutomata

MOST_PRODUCTIONS = 1_500
"""Productions of a grammar whose table is made."""


def has_conflicts(automata: RuleAutomata) -> bool:
    """Whether the table has conflicts, or is too large to be made."""
    productions = [
        *(
            _production(state, [Terminal(f"T{letter}"), _nonterminal(after)])
            for state, moves in enumerate(automata.moves)
            for letter, after in moves
        ),
        *(
            _production(state, [_nonterminal(automata.entry[rule]), _nonterminal(back)])
            for state, calls in enumerate(automata.calls)
            for rule, back in calls
        ),
        *(_production(state, []) for state, ends in enumerate(automata.final) if ends),
    ]
    if len(productions) > MOST_PRODUCTIONS:
        return True
    start = _nonterminal(automata.entry[0]).name
    try:
        LALR_Analyzer(ParserConf(productions, {}, [start]), strict=True).compute_lalr()
    except (GrammarError, RecursionError):  # a conflict; or relations too deep for Lark
        return True
    return False


def _nonterminal(state: int) -> NonTerminal:
    return NonTerminal(f"s{state}")


def _production(state: int, symbols: list[Terminal | NonTerminal]) -> Rule:
    return Rule(_nonterminal(state), symbols)
