"""The brute force over places in a text, against the one that enumerates words."""

from __future__ import annotations

from hypothesis import given

from grammar_cache.expression import Bytes, Grammar, Not, Ref, Repeat
from tests import oracle
from tests.expression_matcher import matches
from tests.strategies import Case, cases, examples


@given(cases())
@examples(60)
def test_both_brute_forces_agree(case: Case) -> None:
    """Words of a grammar, up to some length, are those that the enumeration finds."""
    assert {word for word in oracle.all_words(case.letters, 4) if matches(case.grammar, word)} == {
        word for word in case.words if len(word) <= 4
    }


def test_a_complement_knows_all_rules_that_its_operand_reads() -> None:
    """A repeated rule below `Not` is solved also at the places that its first round reaches."""
    rules = {"other": Not(Bytes(b"bb")), "start": Not(Not(Repeat(Ref("other"), 2, None)))}
    assert all(matches(Grammar(rules, "start"), text) for text in (b"", b"b", b"bb", b"abb"))
