"""The network: what is called and what inlined, how counts are spelled, and that it depends on the grammar alone."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from time import monotonic

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.algorithms.strong_components import components
from grammar_cache.configurations.interner import Configurations
from grammar_cache.errors import EmptyLanguage, GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.expression import (
    EMPTY,
    NOTHING,
    Alt,
    And,
    Bytes,
    Expression,
    Grammar,
    Not,
    Ref,
    Repeat,
    Seq,
    char_class,
)
from grammar_cache.limits import Limits
from grammar_cache.network.inlining import INLINE_SIZE
from grammar_cache.network.network import Network, build
from grammar_cache.network.states import NetworkState
from tests import oracle
from tests.grammar_cache.network.reading import reads
from tests.strategies import Case, cases, examples

A, B = Bytes(b"a"), Bytes(b"b")
LETTERS = char_class([(0x61, 0x7A)])


def network(start: Expression, **rules: Expression) -> Network:
    return build(Grammar({"s": start, **rules}, "s"), Limits())


@pytest.mark.parametrize("most", [0, 1, 2, 5, 96, 97, 127, 128, 129, 255, 256, 1000, None])
@pytest.mark.parametrize("least", [0, 1, 3, 96, 97, 128, 300])
def test_counts_are_exact_however_they_are_spelled(least: int, most: int | None) -> None:
    """Counts from `least` to `most` mean just that, below, at and above the size where unrolling ends."""
    if most is not None and most < least:
        with pytest.raises(EmptyLanguage):
            network(Repeat(A, least, most))
        return
    net = network(Repeat(A, least, most))
    edges = {0, 1, least - 1, least, least + 1, (most or least) - 1, (most or least), (most or least) + 1}
    for count in sorted(n for n in edges if n >= 0):
        assert reads(net, b"a" * count) == (least <= count and (most is None or count <= most)), count


@given(st.integers(0, 600), st.integers(0, 600), st.data())
@examples(30)
def test_counts_of_longer_items_are_exact(least: int, more: int, data: st.DataObject) -> None:
    """A repeated item that is large enough to be a rule of its own is counted exactly, between its neighbours too."""
    item = Alt((Bytes(b"XYZ"), Bytes(b"XW"), Repeat(LETTERS, 30, 30)))
    net = network(Seq((A, Repeat(item, least, least + more), B)))
    counts = [least, least + more, least - 1, least + more + 1, least + more // 2]
    count = data.draw(st.sampled_from([n for n in counts if n >= 0]))
    words = data.draw(st.lists(st.sampled_from([b"XYZ", b"XW", b"word" * 7 + b"en"]), min_size=1, max_size=4))
    text = b"".join(words[i % len(words)] for i in range(count))
    assert reads(net, b"a" + text + b"b") == (least <= count <= least + more)
    assert not reads(net, b"a" + text)


@pytest.mark.parametrize("item", [A, Alt((A, EMPTY)), LETTERS, Repeat(LETTERS, 1, 40)])
@pytest.mark.parametrize(("least", "most"), [(0, 10**6), (10**6, 10**6), (10**6, None), (3, 10**15)])
def test_large_counts_are_not_unrolled(item: Expression, least: int, most: int | None) -> None:
    """A million, or 10^15, of something cost states in proportion to the digits of the count."""
    start = monotonic()
    assert network(Repeat(item, least, most)).states.count < 3000
    assert monotonic() - start < 5


def test_small_rules_are_inlined_and_large_or_recursive_ones_called() -> None:
    """A call costs a stack node, so a small rule is spelled out; recursion and size need a call."""
    small = network(Seq((Ref("x"), Ref("x"))), x=Bytes(b"x" * 10))
    assert small.rule_names == ("s",)
    large = network(Seq((Ref("x"), Ref("x"))), x=Bytes(b"x" * (INLINE_SIZE + 1)))
    assert large.rule_names == ("s", "x")
    recursive = network(Seq((Ref("x"), A)), x=Alt((Seq((B, Ref("x"))), EMPTY)))
    assert recursive.rule_names == ("s", "x")
    assert reads(small, b"x" * 20)
    assert reads(large, b"x" * 2 * (INLINE_SIZE + 1))
    assert reads(recursive, b"bbba")


@pytest.mark.parametrize("step", [Alt, Seq])
@pytest.mark.parametrize("last", [EMPTY, A, NOTHING, Alt((A, EMPTY))])
def test_rules_that_name_the_next_one_twice_stay_small(step: type[Alt] | type[Seq], last: Expression) -> None:
    """A chain of 60 rules that each name the next one twice doubles nothing, whatever stands at its end."""
    rules: dict[str, Expression] = {f"r{i}": step((Ref(f"r{i + 1}"), Ref(f"r{i + 1}"))) for i in range(60)}
    start = monotonic()
    if last == NOTHING:
        with pytest.raises(EmptyLanguage):
            network(Ref("r0"), **rules, r60=last)
    else:
        net = network(Ref("r0"), **rules, r60=last)
        assert net.states.count < 2000
        assert net.nullable == (last != A)
    assert monotonic() - start < 5


def test_long_chains_of_small_rules_are_not_spelled_out_in_each_caller() -> None:
    """A thousand rules that each name a chain of ten thousand cost time in proportion to the text."""
    chain: dict[str, Expression] = {"c10000": A, **{f"c{i}": Ref(f"c{i + 1}") for i in range(10_000)}}
    callers: dict[str, Expression] = {f"m{i}": Alt((Seq((Ref(f"m{i}"), Ref("c0"))), B)) for i in range(1000)}
    start = monotonic()
    net = network(Alt(tuple(Ref(name) for name in callers)), **chain, **callers)
    assert monotonic() - start < 10
    assert len(net.rule_names) > 1 + len(callers) + len(chain) // 50  # the chain is cut into rules of its own
    assert reads(net, b"baa")


def test_a_call_that_can_read_nothing_is_no_way_on() -> None:
    """Rules that derive only the empty text are skipped, so a complete text at its end has nothing to follow."""
    net = network(Seq((Bytes(b"ab"), Ref("x"), Ref("y"))), x=Alt((Ref("x"), EMPTY)), y=Alt((Ref("x"), Ref("y"))))
    assert all(not state.calls for state in net.states.listed())
    table = Configurations(net, 100)
    end = table.step(table.step(table.start, ord("a")), ord("b"))
    assert table.accepts(end)
    assert table.ends(end)


def tail_states(net: Network) -> set[int]:
    return set(np.flatnonzero(net.states.final & ~net.states.live).tolist())


def check_structure(case: Case) -> None:
    with case.as_drawn():
        try:
            net = build(case.grammar, Limits())
        except EmptyLanguage:
            assert not case.words
            return
    assert net.nullable == (b"" in case.words)
    assert tail_states(net) == {i for i, s in enumerate(net.states.listed()) if s.final and not s.moves and not s.calls}
    assert sorted({*map(int, net.classes)}) == list(range(net.class_count))
    listed = net.states.listed()
    for rule, entry in enumerate(net.entry):
        states = [i for i, s in enumerate(listed) if s.rule == rule]
        assert states[0] == entry
        assert distinct_futures(listed, states) == len(states)
    for state in listed:
        assert list(state.moves) == sorted(state.moves) and list(state.calls) == sorted(state.calls)
        assert all(listed[t].rule == state.rule for t in (*state.moves.values(), *(b for _, b in state.calls)))
    for rule, entry in enumerate(net.entry):
        for called, _ in listed[entry].calls:
            assert net.component[rule] <= net.component[called]


def distinct_futures(listed: list[NetworkState], states: list[int]) -> int:
    """Number of a rule's states that differ when calls are symbols like any other (Moore)."""
    block = {s: int(listed[s].final) for s in states}
    while True:
        number: dict[object, int] = {}
        finer = {
            s: number.setdefault(
                (
                    block[s],
                    frozenset((c, block[t]) for c, t in listed[s].moves.items()),
                    frozenset((~r, block[t]) for r, t in listed[s].calls),
                ),
                len(number),
            )
            for s in states
        }
        if len(number) == len(set(block.values())):
            return len(number)
        block = finer


@given(cases())
@examples(40)
def test_rules_are_minimal_and_well_joined(case: Case) -> None:
    """Every rule's automaton is minimal and stays within its rule; classes, tails and components fit the grammar."""
    check_structure(case)


@pytest.mark.full
@given(cases())
@examples(600)
def test_rules_are_minimal_and_well_joined_at_length(case: Case) -> None:
    """Runs the quick test on many more grammars."""
    check_structure(case)


@given(
    st.integers(1, 7).flatmap(lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=3), min_size=n, max_size=n))
)
@examples(200)
def test_components_are_the_mutually_reachable_vertices(successors: list[list[int]]) -> None:
    """Two vertices share a component iff each reaches the other; numbers never fall along an edge."""
    n = len(successors)
    reaches = [[j in successors[i] for j in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                reaches[i][j] |= reaches[i][k] and reaches[k][j]
    component, cyclic = components(successors)
    for i in range(n):
        assert cyclic[component[i]] == reaches[i][i]
        assert all(component[i] <= component[j] for j in successors[i])
        for j in range(n):
            assert (component[i] == component[j]) == (i == j or (reaches[i][j] and reaches[j][i]))


def test_components_of_a_long_chain_need_no_recursion() -> None:
    """A chain of 100,000 vertices is no deeper than one of ten."""
    count = 100_000
    component, cyclic = components([[i + 1] for i in range(count - 1)] + [[]])
    assert all(a < b for a, b in pairwise(component))
    assert not any(cyclic)


@pytest.mark.parametrize(
    ("rules", "error"),
    [
        ({}, GrammarSyntaxError),
        ({"s": Ref("nowhere")}, GrammarSyntaxError),
        ({"s": NOTHING}, EmptyLanguage),
        ({"s": Ref("s")}, EmptyLanguage),
        ({"s": Seq((A, Ref("s")))}, EmptyLanguage),
        ({"s": And((A, B))}, EmptyLanguage),
        ({"s": And((A, Ref("s")))}, UnsupportedFeature),
        (
            {"s": Seq((A, Not(Ref("x")))), "x": Alt((A, Seq((A, Ref("y"))))), "y": Ref("x")},
            UnsupportedFeature,
        ),
    ],
)
def test_what_is_no_grammar_is_refused(rules: dict[str, Expression], error: type[Exception]) -> None:
    """Missing rules, empty languages and recursion under And or Not end in their typed refusals."""
    with pytest.raises(error):
        build(Grammar(rules, "s"), Limits())


@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        (Limits(states=1000), "states"),
        (Limits(rule_states=1000), "rule_states"),
        (Limits(expression_size=1000), "expression_size"),
        (Limits(rules=1000), "rules"),
    ],
)
def test_limits_are_kept(limits: Limits, limit: str) -> None:
    """States, states of a rule, parts or made-up rules that are too many are refused by the name of their limit."""
    unrolled = Bytes(b"ab" * 600)
    counts = Seq(tuple(Repeat(Bytes(b"%d" % i), 0, 10**6) for i in range(300)))
    words: dict[str, Expression] = {f"x{i}": Seq((Bytes(b"xy" * 30 + b"%d" % i), A)) for i in range(30)}
    starts: dict[str, Expression] = {
        "states": Alt(tuple(map(Ref, words))),
        "rule_states": unrolled,
        "expression_size": Seq((A,) * 1000),
        "rules": counts,
    }
    with pytest.raises(LimitExceeded) as refusal:
        build(Grammar({"s": starts[limit], **words}, "s"), limits)
    assert refusal.value.limit == limit


DIGEST = """
import sys
from tests.grammar_cache.network.test_network import digest
print(digest(sys.argv[1] == "backwards"))
"""


def digest(backwards: bool) -> str:
    """Digest of the networks of two grammars with everything that is ever put into a set or a dictionary."""
    item = Alt((Bytes(b"key"), Ref("value"), Seq((Bytes(b"["), Ref("list"), Bytes(b"]")))))
    rules: dict[str, Expression] = {
        "root": Seq((Ref("value"), Repeat(Seq((Ref("list"), Ref("word"))), 0, 500), Ref("never"))),
        "never": Alt((Seq((Ref("never"), A)), EMPTY)),
        "list": Alt((EMPTY, Seq((Ref("list"), Bytes(b","), item)), Ref("value"))),
        "value": Alt((Seq((Ref("list"), Bytes(b"!"))), Ref("word"), Repeat(LETTERS, 100, 900))),
        "word": And((Repeat(LETTERS, 1, 30), Not(Alt((Bytes(b"true"), Bytes(b"null"), Ref("no")))))),
        "no": Alt((Bytes(b"false"), Bytes(b"\xc3\xa9"))),
        "useless": Ref("useless"),
    }
    if backwards:
        rules = dict(reversed(rules.items()))
    net = build(Grammar(rules, "root"), Limits())
    shown = repr(
        (net.states.listed(), net.entry, net.component, net.cyclic, net.nullable, net.rule_names, net.classes.tolist())
    )
    return hashlib.sha256(shown.encode()).hexdigest()


def test_numbers_depend_on_the_grammar_alone() -> None:
    """States, rules, classes and components are numbered alike in every process and order of the rules."""
    root = Path(__file__).parents[3]
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", DIGEST, order],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for order, seed in (("forwards", "1"), ("backwards", "2"))
    ]
    found = [run.communicate(timeout=120)[0].strip() for run in runs]
    assert found == [digest(False)] * 2


def test_words_of_the_network_are_those_of_the_grammar_with_every_rule_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Inlining and unrolling change the size of a network and never its language."""
    grammar = Grammar(
        {
            "s": Alt((Seq((Ref("x"), Ref("s"), Ref("y"))), Ref("x"))),
            "x": Alt((Seq((A, Ref("y"))), EMPTY)),
            "y": Repeat(Alt((B, Ref("z"))), 0, 3),
            "z": Seq((B, A)),
        },
        "s",
    )
    words = oracle.words(grammar, b"ab", 6)
    inlined = build(grammar, Limits())
    monkeypatch.setattr("grammar_cache.network.inlining.INLINE_SIZE", -1)
    monkeypatch.setattr("grammar_cache.network.inlining.UNROLL_SIZE", 0)
    called = build(grammar, Limits())
    assert len(called.entry) > len(inlined.entry)
    for net in (inlined, called):
        assert {w for w in oracle.all_words(b"ab", 6) if reads(net, w)} == words


def test_made_up_rules_never_take_the_name_of_another() -> None:
    """Whatever the grammar's rules are called, the rules made for a large repetition are others."""
    counted = Repeat(Alt((Bytes(b"abcd" * 8), Bytes(b"b" * 33))), 3, 9)
    plain = network(Seq((counted, A)))
    names = [name for name in plain.rule_names if name != "s"]
    assert names
    start = Alt((Seq((counted, A)), *(Ref(name) for name in names)))
    clashing = build(Grammar({"s": start} | {name: Bytes(b"z" * 40) for name in names}, "s"), Limits())
    assert set(names) <= set(clashing.rule_names)
    assert len(clashing.rule_names) == 2 * len(names) + 1
    item = b"abcd" * 8
    assert reads(clashing, item * 3 + b"a")
    assert reads(clashing, b"z" * 40)
    assert not reads(clashing, b"z" * 40 + b"a")


def test_repetitions_of_one_item_share_the_rules_made_for_them() -> None:
    """An item that is repeated in many places is one rule, with one rule for each count: not so many for each place."""
    letter = char_class([(0x61, 0x7A)])
    counted = [Repeat(letter, 100, 100), Repeat(letter, 100, None), Repeat(letter, 0, 200)]
    alone, several = (network(Seq((Seq(tuple(counted)), Bytes(b"-")) * times)) for times in (1, 20))
    assert set(several.rule_names) == set(alone.rule_names)
    assert reads(several, (b"a" * 200 + b"-") * 20)
    assert not reads(several, (b"a" * 200 + b"-") * 19 + b"a" * 199 + b"-")
