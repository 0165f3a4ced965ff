"""Automata kept for other grammars: they save time and change nothing."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.automata.automaton_cache import AutomatonCache
from grammar_cache.dialects.json_schema import compiler as json_schema
from grammar_cache.errors import EmptyLanguage, GrammarError
from grammar_cache.expression import Alt, And, Bytes, Expression, Grammar, Not, Ref, Repeat, Seq, char_class
from grammar_cache.limits import Limits
from grammar_cache.network.network import Network, build
from grammar_cache.network.rule_groups import parts
from tests.strategies import Case, cases, examples

SCHEMAS = (
    '{"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}',
    '{"type": "object", "properties": {"b": {"type": "string", "format": "date"}}, "required": ["b"]}',
    '{"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string", "format": "date"}}}}',
    '{"type": "string", "pattern": "^(a|b)*c$", "maxLength": 40}',
    '{"enum": ["a", "b", {"c": [1, 2]}]}',
)


def content(network: Network) -> list[object]:
    """Everything that a network is."""
    states = network.states
    moves = (states.move_first, states.move_low, states.move_high, states.move_to)
    columns = (*moves, states.call_first, states.call_rule)
    return [
        network.classes.tolist(),
        *(column.tolist() for column in (*columns, states.call_back, states.final, states.rule)),
        (network.entry, network.component, network.cyclic, network.nullable, network.rule_names),
        [part.key for part in parts(network)],
    ]


def built(grammar: Grammar, automata: AutomatonCache | None = None) -> list[object] | None:
    try:
        return content(build(grammar, Limits(), None, automata))
    except EmptyLanguage:
        return None


def check_shared(grammars: Sequence[Grammar], automata: AutomatonCache) -> None:
    for grammar in grammars:
        assert built(grammar, automata) == built(grammar)


@given(st.lists(cases(), min_size=1, max_size=2), st.integers(0, 2))
@examples(15)
def test_networks_are_the_same_whatever_is_known(many: list[Case], size: int) -> None:
    """Random grammars, each from all its rules, after others and twice, however little is kept: as if alone."""
    automata = AutomatonCache([0, 3000, 4_000_000][size])
    starts = [Grammar(case.grammar.rules, name) for case in many for name in case.grammar.rules]
    check_shared(starts + starts[::-1], automata)


def test_schemas_are_the_same_in_any_order() -> None:
    """Schemas with common rules have the networks that each has by itself, whichever came first."""
    grammars = [json_schema.parse(schema) for schema in SCHEMAS]
    for order in (grammars, grammars[::-1]):
        check_shared([*order, *order], AutomatonCache())


def test_what_recurs_is_made_once() -> None:
    """A second schema with the same parts makes only what it brings anew."""
    automata = AutomatonCache()
    sizes = [0]
    for schema in SCHEMAS[1:3]:
        build(json_schema.parse(schema), Limits(), None, automata)
        sizes.append(len(automata))
    assert sizes[1] > 5
    assert sizes[2] - sizes[1] <= 4  # the object and the array, where they stand, and the whole text


def test_a_smaller_limit_refuses_what_a_larger_one_allowed() -> None:
    """An automaton that is known under one limit isn't taken for that under another."""
    grammar = Grammar({"s": And((Repeat(char_class([(97, 122)]), 0, 90), Not(Bytes(b"x" * 80))))}, "s")
    automata = AutomatonCache()
    outcomes = []
    for limit in (1000, 20, 1000):
        try:
            build(grammar, Limits(rule_states=limit), None, automata)
            outcomes.append("fine")
        except GrammarError as error:
            outcomes.append(str(error))
    assert outcomes == ["fine", "a rule needs more than 20 automaton states, in the rule 's'", "fine"]


@given(st.data())
@examples(40)
def test_intersections_are_those_of_their_parts(data: st.DataObject) -> None:
    """Whatever the order and number of the parts, exactly the common texts are left."""
    words = st.lists(st.text("ab", max_size=4), max_size=5)
    drawn = data.draw(st.lists(st.tuples(words, st.booleans()), min_size=1, max_size=5))
    alternatives = [Alt(tuple(Bytes(w.encode()) for w in some)) for some, _ in drawn]
    any_text = Repeat(char_class([(97, 98)]), 0, 4)
    items = [Not(a) if negated else a for a, (_, negated) in zip(alternatives, drawn, strict=True)]
    expected = {w for w in all_words(4) if all((w.decode() in some) != negated for some, negated in drawn)}
    start = And((any_text, *items))
    net = None
    try:
        net = build(Grammar({"s": start}, "s"), Limits())
    except EmptyLanguage:
        assert not expected
    if net is not None:
        assert {w for w in all_words(4) if accepts(net, w)} == expected


def test_a_rule_that_stands_in_and_outside_an_intersection_is_called_outside_only() -> None:
    """Inside it is spelled out, outside it stays a call."""
    body = Bytes(b"x" * 30)
    grammar = Grammar(
        {
            "s": Alt(
                (And((Ref("r"), Not(Bytes(b"y")))), Seq((Bytes(b"a"), Ref("r")))),
            ),
            "r": body,
        },
        "s",
    )
    net = build(grammar, Limits())
    assert net.rule_names == ("s", "r")
    assert len(net.states.call_rule) == 1


def all_words(length: int) -> list[bytes]:
    found, last = [b""], [b""]
    for _ in range(length):
        last = [word + letter for word in last for letter in (b"a", b"b")]
        found += last
    return found


def accepts(network: Network, word: bytes) -> bool:
    states, at = network.states, network.entry[0]
    for byte in word:
        after = dict(states.moves(at)).get(int(network.classes[byte]))
        if after is None:
            return False
        at = after
    return bool(states.final[at])


def test_two_rules_of_equal_content_are_one() -> None:
    """Within one grammar too, whatever the rules are called, and whatever the rules that they call are called."""
    long = Bytes(b"long enough to be called by others")
    rules: dict[str, Expression] = {"s": Alt((Ref("a"), Ref("b"))), "x": long, "y": long}
    rules |= {"a": Seq((long, Ref("x"))), "b": Seq((long, Ref("y")))}
    grammar = Grammar(rules, "s")
    automata = AutomatonCache()
    net = build(grammar, Limits(), None, automata)
    assert len(net.rule_names) == 3
    assert len(automata) == 3


def test_codes_go_with_their_expressions() -> None:
    """A rule that several grammars share keeps its code; one that nobody has any more leaves nothing."""
    shared = Seq((Bytes(b"shared"), Ref("a")))
    automata, known = AutomatonCache(), None
    for number in range(3):
        own = Bytes(b"%d" % number)
        build(Grammar({"s": shared, "a": own}, "s"), Limits(), None, automata)
        assert automata.code(own) is not None
        assert known is None or automata.code(shared) is known
        known = automata.code(shared)
        assert len(vars(automata)["_codes"]) == 2  # that of the number before is gone


def test_what_is_kept_is_bounded() -> None:
    """However many grammars come, only so much is kept."""
    automata = AutomatonCache(largest=10_000)
    for number in range(100):
        build(Grammar({"s": Bytes(b"%d" % number * 20)}, "s"), Limits(), None, automata)
    assert 0 < len(automata) <= 40
