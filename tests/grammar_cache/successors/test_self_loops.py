"""Regions: what stays in a loop of a rule, against reading token by token."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import Vocabulary
from grammar_cache.compile import compile_expression
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Repeat, Seq, char_class
from grammar_cache.limits import Limits
from grammar_cache.successors.self_loop_kernels import heaviest_of
from grammar_cache.successors.self_loops import loop_at, region
from tests.strategies import examples

ESCAPE = Seq((Bytes(b"\\"), Alt((char_class([(0x61, 0x62)]), Bytes(b"uu")))))
CONTENT = Repeat(Alt((char_class([(0x61, 0x63)]), ESCAPE)), 0, None)
TEXTS = st.lists(st.sampled_from([b"a", b"b", b"\\", b"u", b'"', b","]), min_size=1, max_size=5).map(b"".join)
EVEN = np.ones(256, np.int64)
"""Weights of bytes that are alike: one of 257 of them stays wherever any does."""


@given(st.sets(TEXTS, min_size=1, max_size=30), st.booleans())
@examples(60)
def test_tokens_stay_in_a_region_or_leave_it(words: set[bytes], called: bool) -> None:
    """Each token ends in a state of the region, or leaves it at one node, or can't be read."""
    vocabulary = Vocabulary(sorted(words), [99])
    after = Ref("x") if called else Bytes(b'"')
    rules = {"s": Seq((CONTENT, after, Bytes(b","))), "x": Seq((Bytes(b'"'), Repeat(Ref("s"), 0, 1)))}
    grammar = compile_expression(Grammar(rules, "s"), Vocabulary([b"a", b"b", b'"', b",", b"\\"], [99]), Limits())
    network, block = grammar.network, grammar._configurations.network_block
    loop = loop_at(block, network.entry[0], EVEN, share=257)
    if called:
        assert loop is None  # the state calls x
        return
    assert loop is not None
    found = region(loop, vocabulary)
    inside = np.unpackbits(found.tokens.whole(), count=vocabulary.size, bitorder="little")
    ended, left = set(), set()
    for token, text in enumerate(vocabulary.token_bytes):
        place = 0
        for length, byte in enumerate(text or b"", 1):
            to = int(loop.after[place, byte])
            if to < 0:
                if network.classes[byte] in dict(network.states.moves(int(loop.states[place]))):
                    left.add((text or b"")[:length])
                break
            place = to
        else:
            assert inside[token] == bool(text)
            ended |= {place} if text else set()
            continue
        assert not inside[token]
    assert set(np.flatnonzero((found.shortest >= 0).any(axis=0)).tolist()) == ended
    trie = vocabulary.trie
    spelled = {
        bytes(vocabulary.strings[min(s for s in trie.string[node : trie.skip[node]] if s >= 0)][: trie.depth[node]])
        for node in found.exits.tolist()
    }
    assert spelled == left


def test_what_leads_nowhere_back_is_no_region() -> None:
    grammar = compile_expression(Grammar({"s": Bytes(b"abc")}, "s"), Vocabulary([b"a", b"b", b"c"], [9]), Limits())
    block = grammar._configurations.network_block
    assert all(loop_at(block, state, EVEN, share=257) is None for state in range(grammar.network.states.count))


@given(st.lists(st.integers(-1, 4), min_size=256, max_size=256), st.integers(0, 99))
@examples(40)
def test_the_heaviest_next_state_is_that_of_most_weight(after: list[int], seed: int) -> None:
    """Weights add up as they do state by state."""
    weights = np.random.default_rng(seed).integers(0, 9, 256)
    by_state = {
        state: sum(w for to, w in zip(after, weights.tolist(), strict=True) if to == state) for state in {*after}
    }
    total, heaviest, alive = heaviest_of(np.array(after, np.int32), weights)
    dead = by_state.pop(-1, 0)
    assert (total, alive) == (sum(weights.tolist()), sum(weights.tolist()) - dead)
    assert heaviest == min(by_state, key=lambda state: (-by_state[state], state), default=-1)
