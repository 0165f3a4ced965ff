"""Configurations: what they accept, that no living prefix dies, and how few there are."""

from __future__ import annotations

from time import monotonic

import numpy as np
import pytest
from hypothesis import given

from grammar_cache.configurations.arena import SPENT
from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.errors import EmptyLanguage, LimitExceeded
from grammar_cache.expression import EMPTY, Alt, Bytes, Expression, Grammar, Ref, Repeat, Seq, char_class
from grammar_cache.limits import Limits
from grammar_cache.network.network import build
from tests import oracle
from tests.expression_matcher import matches
from tests.strategies import Case, cases, examples

A, B = Bytes(b"a"), Bytes(b"b")
NAME = Seq((char_class([(0x61, 0x7A)]), Repeat(char_class([(0x30, 0x39), (0x61, 0x7A)]), 0, None)))


class Reader:
    """Follows texts byte by byte through the tables, expanding what it meets."""

    def __init__(self, grammar: Grammar, limit: int = 1_000_000) -> None:
        self.table = Configurations(build(grammar, Limits()), limit)

    def after(self, text: bytes, at: int | None = None) -> int:
        at = self.table.start if at is None else at
        for byte in text:
            if at == DEAD:
                break
            at = self.table.step(at, byte)
        return at

    def accepts(self, text: bytes) -> bool:
        at = self.after(text)
        return at != DEAD and self.table.accepts(at)


def check_acceptance(case: Case) -> None:
    try:
        reader = reader_of(case)
    except EmptyLanguage:
        assert not case.words
        return
    found = {word for word in oracle.all_words(case.letters, case.longest) if reader.accepts(word)}
    assert found == case.words
    for word in case.words:
        assert reader.after(word) != DEAD
        for foreign in (b"z", b"\x00", b"\xff"):
            assert reader.accepts(word + foreign) == matches(case.grammar, word + foreign)


def reader_of(case: Case) -> Reader:
    with case.as_drawn():
        return Reader(case.grammar)


@given(cases())
@examples(40)
def test_what_is_accepted_is_what_the_grammar_derives(case: Case) -> None:
    """Over all short texts: accepted iff enumeration derives it, and every byte of it is alive on the way."""
    check_acceptance(case)


@pytest.mark.full
@given(cases())
@examples(1000)
def test_what_is_accepted_is_what_the_grammar_derives_at_length(case: Case) -> None:
    """Runs the quick test on many more grammars."""
    check_acceptance(case)


def completion(reader: Reader, at: int, letters: bytes, seen_limit: int = 500) -> bytes | None:
    """The shortest text that leads from a configuration to an accepting one, breadth first."""
    todo, seen = [(at, b"")], {at}
    for here, text in todo:
        if reader.table.accepts(here):
            return text
        for letter in letters:
            after = reader.after(bytes([letter]), here)
            if after != DEAD and after not in seen and len(seen) < seen_limit:
                seen.add(after)
                todo.append((after, text + bytes([letter])))
    return None


def check_liveness(case: Case) -> None:
    if not case.words:
        return
    reader = reader_of(case)
    prefixes = {word[:i] for word in case.words for i in range(len(word) + 1)}
    for text in oracle.all_words(case.letters, 4):
        at = reader.after(text)
        assert at != DEAD or text not in prefixes
        if at == DEAD or text in prefixes:
            continue
        rest = completion(reader, at, case.letters + b"z")
        if rest is not None and len(rest) < 20:
            assert matches(case.grammar, text + rest)
        else:
            assert rest is not None or reader.table.count > 400


@given(cases())
@examples(30)
def test_a_living_prefix_begins_a_text_and_a_dead_one_none(case: Case) -> None:
    """Every prefix of a derived text is alive; whatever else is alive has a completion that the grammar derives."""
    check_liveness(case)


@pytest.mark.full
@given(cases())
@examples(600)
def test_a_living_prefix_begins_a_text_and_a_dead_one_none_at_length(case: Case) -> None:
    """Runs the quick test on many more grammars."""
    check_liveness(case)


def check_order(case: Case) -> None:
    if not case.words:
        return
    texts = sorted(oracle.all_words(case.letters, 4), key=lambda t: (len(t), t))
    forwards, backwards = reader_of(case), reader_of(case)
    found = [forwards.accepts(text) for text in texts]
    assert [backwards.accepts(text) for text in reversed(texts)] == found[::-1]
    assert forwards.table.count == backwards.table.count


@given(cases())
@examples(20)
def test_expanding_in_another_order_changes_nothing(case: Case) -> None:
    """Texts read longest first and shortest first are accepted alike, by as many configurations."""
    check_order(case)


@pytest.mark.full
@given(cases())
@examples(300)
def test_expanding_in_another_order_changes_nothing_at_length(case: Case) -> None:
    """Runs the quick test on many more grammars."""
    check_order(case)


class ChosenReader(Reader):
    """Follows texts as chosen ones, where reading any byte costs more than may be looked at."""

    def __init__(self, grammar: Grammar) -> None:
        self.table = Configurations(build(grammar, Limits()), 1_000_000, widest=1)

    def after(self, text: bytes, at: int | None = None) -> int:
        at = self.table.start if at is None else at
        for byte in text:
            at = self.table.step_reserved(at, byte) if at != DEAD else DEAD
        return at


def check_chosen(case: Case) -> None:
    if not case.words:
        return
    with case.as_drawn():
        reader = ChosenReader(case.grammar)
    found = {word for word in oracle.all_words(case.letters, case.longest) if reader.accepts(word)}
    assert found == case.words


@given(cases())
@examples(40)
def test_chosen_texts_are_followed_whatever_their_bytes_cost(case: Case) -> None:
    """Over all short texts: a chosen one is accepted iff enumeration derives it, though no byte may cost anything."""
    check_chosen(case)


@pytest.mark.full
@given(cases())
@examples(600)
def test_chosen_texts_are_followed_whatever_their_bytes_cost_at_length(case: Case) -> None:
    """Runs the quick test on many more grammars."""
    check_chosen(case)


def test_a_chosen_byte_of_rules_in_a_circle_costs_no_square() -> None:
    """Two thousand rules that call each other last, the last one the first: a byte looks at each a few times."""
    count = 2_000
    rules: dict[str, Expression] = {f"r{i}": Alt((Ref(f"r{i + 1}"), Seq((A, Ref(f"r{i + 1}"))))) for i in range(count)}
    rules[f"r{count}"] = Alt((Seq((Ref("r0"), B)), A))
    table = Configurations(build(Grammar(rules, "r0"), Limits()), 1_000_000, widest=100)
    spent = int(table.arena.used[SPENT])
    assert table.accepts(table.step_reserved(table.start, ord("a")))
    assert int(table.arena.used[SPENT]) - spent < 50 * count


def test_left_recursion_costs_no_stack() -> None:
    """Three thousand terms of a left-recursive sum reach a handful of configurations."""
    grammar = Grammar({"e": Alt((Seq((Ref("e"), Bytes(b"+"), Ref("n"))), Ref("n"))), "n": NAME}, "e")
    reader = Reader(grammar)
    assert reader.accepts(b"+".join([b"x1"] * 3000))
    assert reader.table.count <= 4


def test_right_recursion_costs_no_stack() -> None:
    """Three thousand items of a right-recursive list reach a handful of configurations, by tail calls."""
    grammar = Grammar({"l": Alt((Seq((Ref("n"), Bytes(b","), Ref("l"))), Ref("n"))), "n": NAME}, "l")
    reader = Reader(grammar)
    assert reader.accepts(b",".join([b"x1"] * 3000))
    assert reader.table.count <= 6


def test_mutual_left_recursion_through_nullable_rules_costs_no_stack() -> None:
    """Rules that call each other behind nullable ones before reading are one group, however long the text."""
    rules: dict[str, Expression] = {
        "s": Alt((Seq((Ref("n"), Ref("t"), A)), B)),
        "t": Alt((Seq((Ref("n"), Ref("s"), B)), Ref("s"), A)),
        "n": Alt((EMPTY, Ref("n"), Seq((Ref("n"), Ref("n"))))),
    }
    grammar = Grammar(rules, "s")
    reader = Reader(grammar)
    words = oracle.words(grammar, b"ab", 8)
    assert {w for w in oracle.all_words(b"ab", 8) if reader.accepts(w)} == words
    assert reader.accepts(b"b" + b"a" * 3000)
    assert reader.table.count < 60


def test_nesting_is_as_deep_as_the_text() -> None:
    """Two thousand parentheses need as many configurations, soon made, and closing one too many dies."""
    grammar = Grammar({"p": Alt((Seq((Bytes(b"("), Ref("p"), Bytes(b")"))), Bytes(b"x")))}, "p")
    reader = Reader(grammar)
    start = monotonic()
    assert reader.accepts(b"(" * 2000 + b"x" + b")" * 2000)
    assert monotonic() - start < 2
    assert not reader.accepts(b"(" * 2000 + b"x" + b")" * 1999)
    assert reader.after(b"(" * 2000 + b"x" + b")" * 2001) == DEAD
    assert reader.table.count < 4010


def test_ambiguity_grows_the_items_and_not_the_number_of_configurations() -> None:
    """Every text of a's is accepted by S → S S | a, by one configuration a byte, with items linear in it."""
    reader = Reader(Grammar({"s": Alt((Seq((Ref("s"), Ref("s"))), A))}, "s"))
    assert all(reader.accepts(b"a" * n) for n in range(1, 100))
    assert reader.table.count <= 102
    assert max(len(reader.table.items(x)) for x in range(reader.table.count)) <= 202


@pytest.mark.parametrize("body", [Alt((EMPTY, A)), Repeat(A, 0, 1), Alt((Seq((Ref("s"), A)), EMPTY))])
def test_the_empty_text_is_accepted_where_the_start_is_nullable(body: Expression) -> None:
    """The start accepts before the first byte iff the empty text belongs."""
    assert Reader(Grammar({"s": body}, "s")).accepts(b"")
    assert not Reader(Grammar({"t": Seq((Ref("s"), A)), "s": body}, "t")).accepts(b"")


def test_only_the_empty_text() -> None:
    """A language of the empty text alone accepts at once and lives through no byte."""
    reader = Reader(Grammar({"s": EMPTY}, "s"))
    assert reader.accepts(b"")
    assert {reader.after(bytes([byte])) for byte in range(256)} == {DEAD}


def test_rules_that_call_each_other_find_room() -> None:
    """Nodes of many rules that lean on each other are made together, whatever room there is at first."""
    rules = {
        f"r{i}": Alt((Seq((Ref(f"r{(i + 1) % 90}"), A)), Seq((Ref(f"r{(7 * i) % 90}"), A, A)), A)) for i in range(90)
    }
    network = build(Grammar(rules, "r0"), Limits())
    small, large = (Configurations(network, 1_000, room=room) for room in (2, 1024))
    at = [small.start, large.start]
    for _ in range(6):
        at = [table.step(configuration, ord("a")) for table, configuration in zip((small, large), at, strict=True)]
        assert at[0] == at[1] != DEAD
    assert small.items(at[0]) == large.items(at[0])


def test_growth_ends_at_the_limit_and_what_was_known_stays() -> None:
    """Interning beyond the limit is refused, leaves the tables whole, and what is known is still followed."""
    grammar = Grammar({"p": Alt((Seq((Bytes(b"("), Ref("p"), Bytes(b")"))), Bytes(b"x")))}, "p")
    reader = Reader(grammar, limit=20)
    with pytest.raises(LimitExceeded) as refusal:
        reader.after(b"(" * 100)
    assert refusal.value.limit == "configurations"
    assert reader.table.count == 20
    with pytest.raises(LimitExceeded):
        reader.after(b"(" * 100)
    made = np.flatnonzero(reader.table.arena.row[: reader.table.count] >= 0).tolist()
    known = np.array([reader.table.row(configuration) for configuration in made])
    assert len(made) > 5
    assert np.all((known < reader.table.count) & (known >= DEAD))
    assert reader.after(b"(((") != DEAD


def test_what_was_trimmed_is_made_again_and_numbered_alike() -> None:
    """Rows that are given back come out as they were; new configurations have the numbers that they have elsewhere."""
    body = Alt((Seq((Bytes(b"("), Ref("p"), Bytes(b")"))), Seq((Bytes(b"["), Ref("p"), Bytes(b"]"))), Bytes(b"x")))
    network = build(Grammar({"p": body}, "p"), Limits())
    trimmed, whole = Configurations(network, 1_000, room=1_024), Configurations(network, 1_000)
    for table in (trimmed, whole):
        for text in (b"((x))", b"[(x)]", b"(["):
            at = table.start
            for byte in text:
                at = table.step(at, byte)
    rows = [trimmed.row(configuration).tolist() for configuration in range(5)]
    held = trimmed.held_bytes
    trimmed.trim([trimmed.start])
    assert trimmed.held_bytes < min(held / 4, whole.held_bytes)
    assert np.flatnonzero(trimmed.arena.row[: trimmed.count] >= 0).tolist() == [trimmed.start]
    assert [trimmed.row(configuration).tolist() for configuration in range(5)] == rows
    both = [trimmed.start, whole.start]
    for byte in b"[[[([(([(([[((x":
        both = [table.step(configuration, byte) for table, configuration in zip((trimmed, whole), both, strict=True)]
        assert both[0] == both[1] != DEAD
    assert trimmed.items(both[0]) == whole.items(both[0])
    assert trimmed.node_count == whole.node_count
