"""The parse table, beside the one that Lark itself makes of the same rules."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lark.common import ParserConf
from lark.exceptions import GrammarError as LarkGrammarError
from lark.grammar import NonTerminal, Rule, Symbol, Terminal
from lark.parsers.lalr_analysis import LALR_Analyzer, Shift

from grammar_cache.dialects.lark import compiler as lark
from grammar_cache.dialects.lark.contextual import MOST_TERMINALS
from grammar_cache.dialects.lark.parse_table import MOST_STEPS, parse_table
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded, UnsupportedFeature

Table = tuple[list[dict[str, int]], list[set[str]]]
"""States behind symbols, and terminals that the parser may be given, of each state."""


def of_lark(rules: list[Rule], start: str) -> Table | None:
    """Table of Lark's, its states numbered as they are met; None where it has conflicts."""
    analyzer = LALR_Analyzer(ParserConf(rules, {}, [start]), strict=True)
    try:
        analyzer.compute_lalr()
    except LarkGrammarError:
        return None
    if any(len(reduced) > 1 for state in analyzer.lr0_itemsets for reduced in state.lookaheads.values()):
        return None
    rows, order = analyzer.parse_table.states, [analyzer.parse_table.start_states[start]]
    numbers = {order[0]: 0}
    after: list[dict[str, int]] = []
    for state in order:  # grows while it is read
        after.append({})
        for name, (action, target) in sorted(rows[state].items()):
            if action is Shift:
                if target not in numbers:
                    numbers[target] = len(order)
                    order.append(target)
                after[-1][name] = numbers[target]
    return after, [{name for name in rows[state] if name.isalpha() and name.isupper()} for state in order]


def ours(rules: list[Rule], start: str) -> Table | None:
    try:
        table = parse_table(rules, start)
    except UnsupportedFeature:
        return None
    return [dict(own) for own in table.after], [set(table.sets[number]) for number in table.accepted]


def rule(origin: str, *body: str) -> Rule:
    symbols: list[Symbol] = [Terminal(name) if name.isupper() else NonTerminal(name) for name in body]
    return Rule(NonTerminal(origin), symbols)


def random_rules(rng: random.Random) -> list[Rule]:
    """Rules of few symbols: left and right recursive ones, those that may be empty, and cycles of such."""
    nonterminals = ["start", *"abcd"[: rng.randint(0, 4)]]
    terminals = "ABCDEF"[: rng.randint(1, 6)]
    bodies: dict[tuple[str, ...], None] = {}
    for origin in nonterminals:
        for _ in range(rng.choice([1, 1, 2, 3])):
            length = rng.choice([0, 1, 1, 2, 2, 3, 4])
            share = rng.random()
            body = (rng.choice(nonterminals) if rng.random() < share else rng.choice(terminals) for _ in range(length))
            bodies[origin, *body] = None
    return [rule(*body) for body in bodies]


@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_tables_are_those_of_lark(rng: random.Random) -> None:
    """States, what is behind them, and the terminals that are looked for; or conflicts in both."""
    for _ in range(20):
        rules = random_rules(rng)
        assert ours(rules, "start") == of_lark(rules, "start"), rules


def test_random_rules_are_of_both_kinds() -> None:
    """The comparison has hundreds of tables, with as many as 16 states and more, and hundreds of conflicts."""
    rng = random.Random(5)
    tables = [ours(random_rules(rng), "start") for _ in range(1000)]
    sizes = [len(table[0]) for table in tables if table is not None]
    assert len(sizes) > 250 and len(tables) - len(sizes) > 250
    assert max(sizes) > 15 and len({size for size in sizes if size > 4}) > 5


def test_a_table_that_is_as_large_as_all_sets_of_places_is_refused() -> None:
    """Each text of 20 letters leads to a state of its own: a million, from 500 bytes."""
    rules = [rule("start", "A", "start"), rule("start", "B", "start"), rule("start", "A", "y1")]
    rules += [rule(f"y{i}", letter, f"y{i + 1}") for i in range(1, 20) for letter in "AB"]
    rules += [rule("y20", "A"), rule("y20", "B")]
    with pytest.raises(LimitExceeded) as caught:
        parse_table(rules, "start")
    assert caught.value.limit == "states"
    assert str(MOST_STEPS) in caught.value.message


def test_rules_one_below_the_other_take_no_recursion() -> None:
    """Lark's own analysis may end in a RecursionError there, by the order in which it comes to its transitions."""
    chain = [rule(f"r{i}", f"r{i + 1}") for i in range(3000)] + [rule("r3000", "A")]
    table = parse_table(chain, "r0")
    assert [sorted(table.sets[number]) for number in table.accepted[:2]] == [["A"], []]


@pytest.mark.parametrize(
    "text",
    [
        "start: A+\nA: /(?i)ab/",
        "start: (A|B)+\nA: /(?P<x>a)/\nB: /(?P<x>b)/",
        "start: (A|B)+\nA: /(?P<B>a)/\nB: /b/",
        "start: A+\nA: /(a|b)\\1/",
        "start: A B\nA: /a/\nB: /b/\n%ignore /(?i)c/",
    ],
    ids=["flags inside", "a group twice", "a group like a terminal", "a group's number", "ignored"],
)
def test_terminals_that_make_no_regular_expression_together_are_refused(text: str) -> None:
    """Lark makes one of all that are looked for, and ends in an `re.error` at the first text."""
    with pytest.raises(GrammarSyntaxError) as caught:
        lark.parse(text, lexer="contextual")
    assert caught.value.line == 1


def test_lexers_that_differ_in_every_state_are_bounded() -> None:
    """Each state looks for another set of terminals where any of them may be left out."""
    text = "start: " + " ".join(f"x{i}" for i in range(400)) + "\n"
    text += "\n".join(f'x{i}: "{chr(0x4E00 + i)}"?' for i in range(400))
    with pytest.raises(LimitExceeded) as caught:
        lark.parse(text, lexer="contextual")
    assert caught.value.limit == "states"
    assert str(MOST_TERMINALS) in caught.value.message
