"""Walks by classes of bytes: the same as byte by byte."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import product
from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import CompiledGrammar, Limits, Vocabulary
from grammar_cache.compile import compile_expression
from grammar_cache.expression import Alt, Bytes, Expression, Grammar, Ref, Repeat, Seq, char_class
from grammar_cache.masks.inside_walks import InsideWalks
from grammar_cache.successors.rule_classes import RuleClasses
from grammar_cache.vocabulary.class_trie import SHARE, ClassTrie, ClassTrieCache
from tests.grammar_cache.masks.test_masks import expected
from tests.strategies import examples

LETTERS = bytes(range(0x61, 0x7B))
PAIRS = [bytes(one) for length in (1, 2) for one in product(LETTERS + b'"\\', repeat=length)]
LONGER = [(LETTERS * 2)[at : at + length] for at in range(26) for length in (3, 5, 12)]
STRINGS = [*PAIRS, *LONGER, *(one[:4] + b'"' for one in LONGER), *(bytes([b]) for b in b",{}")]
VOCABULARY = Vocabulary([*STRINGS, b"ab", b"abc", b'bc"'], [len(STRINGS) + 3])
SMALLEST = st.integers(0, 12)


def character(escaped: int) -> Expression:
    """A letter, or a backslash before some of them: states behind the backslash are narrow."""
    return Alt((char_class([(0x61, 0x7A)]), Seq((Bytes(b"\\"), char_class([(0x61, 0x61 + escaped)])))))


def text(escaped: int, least: int, most: int) -> Expression:
    return Seq((Bytes(b'"'), Repeat(character(escaped), least, most), Bytes(b'"')))


def compiled(texts: list[tuple[int, int, int]], *, called: bool) -> CompiledGrammar:
    """Texts behind each other, each of so many characters, in rules of their own where they are to be `called`."""
    rules = {f"t{i}": text(escaped, least, least + more) for i, (escaped, least, more) in enumerate(texts)}
    parts: list[Expression] = [Ref(name) if called else rule for name, rule in rules.items()]
    listed = [part for item in parts for part in (Bytes(b","), item)][1:]
    return compile_expression(Grammar({"s": Seq((*listed, Bytes(b"}"))), **rules}, "s"), VOCABULARY, Limits())


@given(st.lists(st.tuples(st.integers(0, 4), SMALLEST, SMALLEST), min_size=1, max_size=3), st.booleans(), st.data())
@examples(20)
def test_masks_by_class_are_those_of_all_tokens(
    texts: list[tuple[int, int, int]], called: bool, data: st.DataObject
) -> None:
    """Each token consumed by itself says what the masks should be; so do masks of walks byte by byte."""
    VOCABULARY.clear_caches()
    grammar = compiled(texts, called=called)
    budget = data.draw(st.sampled_from([None, 3, 6, 20]))
    way = data.draw(st.randoms(use_true_random=False))
    configuration, tokens, masks = grammar.start, [], []
    for _ in range(12):
        masks.append(grammar.mask(configuration, budget).tolist())
        assert masks[-1] == expected(grammar, configuration, budget)
        viable = [token for token in np.flatnonzero(grammar.mask(configuration)) if token < len(STRINGS)]
        if not viable:
            break
        tokens.append(int(way.choice(viable)))
        configuration = grammar.take(configuration, tokens[-1])
    VOCABULARY.clear_caches()
    with mock.patch.object(RuleClasses, "around", return_value=None):
        other = compiled(texts, called=called)
        places = [other.start, *other.followed(tokens)]
        assert [other.mask(place, budget).tolist() for place in places[: len(masks)]] == masks


def test_a_text_of_bounded_length_is_walked_by_class() -> None:
    VOCABULARY.clear_caches()
    grammar = compiled([(2, 3, 30)], called=False)
    with mock.patch.object(
        InsideWalks, "_walked_by_class", autospec=True, side_effect=InsideWalks._walked_by_class
    ) as walked:
        configuration = grammar.consume_bytes(grammar.start, b'"abc')
        assert configuration is not None
        assert grammar.mask(configuration).tolist() == expected(grammar, configuration, None)
    assert walked.call_count == 1


@given(st.integers(0, 10_000), st.integers(1, 5))
@examples(40)
def test_nodes_and_tokens_of_a_trie_of_classes_are_those_of_their_strings(seed: int, count: int) -> None:
    """Strings spelled in classes, one by one, tell which tokens and nodes belong together."""
    rng = random.Random(seed)
    classes = np.array([rng.randrange(count) for _ in range(256)], np.uint8)
    order = {own: rank for rank, own in enumerate(dict.fromkeys(classes.tolist()))}
    classes = np.array([order[own] for own in classes.tolist()], np.uint8)
    ids: dict[bytes, list[int]] = defaultdict(list)
    for token, string in enumerate(VOCABULARY.token_bytes):
        if string:
            ids[bytes(classes[byte] for byte in string)].append(token)
    longer: dict[bytes, list[int]] = defaultdict(list)
    trie, path = VOCABULARY.trie, b""
    for node in range(trie.size):
        path = path[: trie.depth[node] - 1] + bytes([trie.byte[node]]) if node else b""
        if trie.skip[node] > node + 1:
            longer[bytes(classes[byte] for byte in path)].append(node)
    made = ClassTrie.of(VOCABULARY, classes)
    prefixes = {one[:length] for one in ids for length in range(len(one) + 1)}
    assert (made is None) == (len(prefixes) > trie.size // SHARE)
    if made is None:
        return
    assert made.trie.size == len(prefixes)
    path = b""
    for node in range(made.trie.size):
        path = path[: made.trie.depth[node] - 1] + bytes([classes[made.trie.byte[node]]]) if node else b""
        string = made.trie.string[node]
        tokens = [] if string < 0 else made.token_list[slice(*made.token_offsets[string : string + 2])].tolist()
        assert sorted(tokens) == ids[path]
        one = np.array([node], np.int32)
        least = min((VOCABULARY.string_of[token] for token in tokens), default=-1)
        assert made.string_of[node] == least
        assert [part.tolist() for part in made.listed(one, one)] == [longer[path], [node] * len(longer[path])]
        own = [other for other in range(made.trie.size) if node < other < made.trie.skip[node]]
        assert len(own) == sum(other != path and other.startswith(path) for other in prefixes)


def test_classes_that_make_many_nodes_are_remembered_as_such() -> None:
    cache = ClassTrieCache()
    classes = np.minimum(np.arange(256), 63).astype(np.uint8)
    classes[list(LETTERS)] = np.arange(26)
    for _ in range(2):
        assert cache.of(VOCABULARY, classes) is None
    assert len(cache) == 1
