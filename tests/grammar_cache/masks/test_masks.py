"""Masks that are made of the masks of other states: the same as token by token."""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import CompiledGrammar, Limits, Vocabulary
from grammar_cache.compile import compile_expression
from grammar_cache.configurations.interner import DEAD
from grammar_cache.expression import Alt, Bytes, Expression, Grammar, Repeat, Seq, char_class
from grammar_cache.masks.masks import Masks
from tests.strategies import Case, cases, examples

QUOTE = Bytes(b'"')
CHARACTER = Alt((char_class([(0x61, 0x63)]), Seq((Bytes(b"\\"), char_class([(0x61, 0x62)])))))
ENDS: Sequence[bytes] = (b"", b'"', b'",', b'","', b'","a', b"}", b'"}', b"\\", b"\\b")
TOKENS = [head * times + end for head in (b"a", b"ab", b"\\a") for times in (0, 1, 2, 3, 5, 9, 17, 40) for end in ENDS]
VOCABULARY = Vocabulary([*sorted({token for token in TOKENS if token}), *(bytes([b]) for b in b"abc,")], [1000])


def string(least: int, most: int) -> Expression:
    return Seq((QUOTE, Repeat(CHARACTER, least, most), QUOTE))


def expected(grammar: CompiledGrammar, configuration: int, budget: int | None) -> list[bool]:
    """Ids that decoding lets through, each consumed by itself; a search from behind each agrees that it fits."""
    left = (1 << 28) if budget is None else budget - 1
    found = []
    for token in range(grammar.vocabulary.size):
        after = grammar.consume(configuration, token)
        place = np.array([DEAD if after is None else after], np.int32)
        found.append(int(grammar.distances_behind(configuration, place, left)[0]) <= left)
        assert not found[-1] or int(grammar.distances(place, left)[0]) <= left
    return [
        grammar.accepts(configuration) if i in grammar.vocabulary.stop_ids else alive for i, alive in enumerate(found)
    ]


@given(
    st.lists(st.tuples(st.integers(0, 45), st.integers(0, 45)), min_size=1, max_size=3),
    st.sampled_from([None, 1, 2, 4, 9]),
    st.data(),
)
@examples(25)
def test_states_before_a_bound_have_the_masks_of_their_own(
    bounds: list[tuple[int, int]], budget: int | None, data: st.DataObject
) -> None:
    """Masks of a bounded text are what decoding lets through wherever it stands, in whatever order they were asked."""
    strings = [string(least, least + more) for least, more in bounds]
    listed = [part for item in strings for part in (Bytes(b","), item)][1:]
    grammar = compile_expression(Grammar({"s": Seq((*listed, Bytes(b"}")))}, "s"), VOCABULARY, Limits())
    text = b",".join(b'"' + b"a" * (least + more) + b'"' for least, more in bounds) + b"}"
    for length in data.draw(st.permutations(range(len(text) + 1)))[:30]:
        configuration = grammar.consume_bytes(grammar.start, text[:length])
        assert configuration is not None
        assert grammar.mask(configuration, budget).tolist() == expected(grammar, configuration, budget)


@given(cases(), st.data())
@examples(40)
def test_few_tokens_one_by_one_are_those_of_all_parts(case: Case, data: st.DataObject) -> None:
    """Masks where few tokens lead on are those that parts give, and what decoding lets through."""
    one, other = case.compiled(), case.compiled()
    if one is None or other is None:
        return
    here, there = one.start, other.start
    for _ in range(data.draw(st.integers(0, 12))):
        quick = one.mask(here)
        with mock.patch.object(Masks, "_few", return_value=None):
            assert other.mask(there).tolist() == quick.tolist() == expected(one, here, None)
        viable = [token for token in np.flatnonzero(quick).tolist() if token not in case.vocabulary.stop_ids]
        if not viable:
            return
        token = data.draw(st.sampled_from(viable))
        after, likewise = one.consume(here, token), other.consume(there, token)
        assert after is not None
        assert likewise is not None
        here, there = after, likewise


@given(cases(), st.permutations([1, 2, 3, 4, 6, 9, None]), st.data())
@examples(20)
def test_masks_are_the_same_in_whatever_order_budgets_are_asked(
    case: Case, budgets: list[int | None], data: st.DataObject
) -> None:
    """A mask of which only so much was made as showed that some token doesn't fit is made whole where there is room."""
    with mock.patch.object(Masks, "_few", return_value=None):
        grammar = case.compiled()
        here = None if grammar is None else grammar.start
        while grammar is not None and here is not None:
            for budget in budgets:
                assert grammar.mask(here, budget).tolist() == expected(grammar, here, budget)
            here = grammar.consume(here, data.draw(st.integers(0, case.vocabulary.size - 1)))


def test_how_long_tokens_become_is_known() -> None:
    """Lengths of the longest string below each node of the trie are right."""
    trie = VOCABULARY.trie
    assert trie.deepest().tolist() == [int(trie.depth[i : trie.skip[i]].max()) for i in range(trie.size)]
