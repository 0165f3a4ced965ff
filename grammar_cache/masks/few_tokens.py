"""The compiled walk of a configuration from which few tokens lead on, such as one in the middle of a declared key.

From each configuration the children of a node of the trie are looked at, which lie side by side; nothing is written for
tokens that lead nowhere. As in `token_kernels`, a loop that can't go on returns a status below 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grammar_cache.algorithms.sorting import distinct
from grammar_cache.array_types import IntRows, Ints, Longs
from grammar_cache.blocks import Block, Layout
from grammar_cache.configurations.arena import UNKNOWN, WIDE, arena_in, breadth, rules_in
from grammar_cache.configurations.row_kernels import after_byte, expanded, follows
from grammar_cache.jit import jit, jit_no_arrays
from grammar_cache.successors.distinct_kernels import BREADTH_COST, NODE_COST, SOURCE_COST, row_cost
from grammar_cache.vocabulary.token_set_kernels import words_of
from grammar_cache.vocabulary.trie import Children
from grammar_cache.vocabulary.vocabulary import Vocabulary

MOST = 512
"""Tokens that are few."""
MANY = -20
_CONFIGURATION, _NODE, _CHILD = range(3)


class Spellings(NamedTuple):
    """The trie's nodes by their children, the string that ends at each, and the ids of strings; see `Vocabulary`."""

    children: Children
    string: Ints
    offsets: Ints
    ids: Ints

    @staticmethod
    def of(vocabulary: Vocabulary) -> Spellings:
        return Spellings(vocabulary.children, vocabulary.trie.string, vocabulary.token_offsets, vocabulary.token_list)


class FewFound(NamedTuple):
    """Room for `tokens`, and for what each has `reached`. `path`: int32[3, the longest token + 1]."""

    tokens: Ints
    reached: Ints
    path: IntRows

    @staticmethod
    def room(longest: int) -> FewFound:
        """Room for tokens of at most so many bytes."""
        return FewFound(np.empty(MOST, np.int32), np.empty(MOST, np.int32), np.empty((3, longest + 1), np.int32))


SPELLINGS, FOUND = Layout(Spellings), Layout(FewFound)
spellings_in, found_in = SPELLINGS.reader(), FOUND.reader()


@jit_no_arrays
def few(
    rules_block: Block,
    arena_block: Block,
    weights: Longs,
    heavy: int,
    fuel: int,
    spellings_block: Block,
    configuration: int,
    found_block: Block,
) -> int:
    """Notes the tokens that lead on from a configuration: how many there are.

    MANY where there is no room for them, where the `fuel` for looking at all tokens doesn't last, or where byte classes
    lead on whose `weights` are more than `heavy`; WIDE where a byte is dear; another status below 0, after which it
    begins anew.
    """
    rules, arena = rules_in(rules_block), arena_in(arena_block)
    spellings, found = spellings_in(spellings_block), found_in(found_block)
    if arena.row[configuration] < 0:
        status = expanded(rules, arena, configuration)
        if status < 0:
            return status
    alive, row = 0, arena.row[configuration]
    for c in range(len(weights)):
        if follows(arena, row, c) >= 0:
            alive += weights[c]
    if alive > heavy:
        return MANY
    children, path = spellings.children, found.path
    path[_CONFIGURATION, 0], path[_NODE, 0], path[_CHILD, 0] = configuration, 0, children.first[0]
    breadth_here = breadth(arena, configuration)
    fuel -= SOURCE_COST + BREADTH_COST * breadth_here
    depth = count = 0
    while depth >= 0:
        here, node, child = path[_CONFIGURATION, depth], path[_NODE, depth], path[_CHILD, depth]
        if child == children.first[node + 1]:
            depth -= 1
            continue
        after = after_byte(rules, arena, here, children.byte[child])
        if after < UNKNOWN:
            return after
        if arena.costs[here] > rules.dear:
            return WIDE
        fuel -= NODE_COST + (row_cost(arena, here) if child == children.first[node] else 0)
        if fuel < 0:
            return MANY
        path[_CHILD, depth] = child + 1
        if after < 0:
            continue
        node = children.node[child]
        if children.ends[child]:
            string = spellings.string[node]
            for t in range(spellings.offsets[string], spellings.offsets[string + 1]):
                if count == len(found.tokens):
                    return MANY
                found.tokens[count], found.reached[count] = spellings.ids[t], after
                count += 1
        depth += 1
        path[_CONFIGURATION, depth], path[_NODE, depth], path[_CHILD, depth] = after, node, children.first[node]
    return count


@jit
def few_words(found: FewFound, count: int, stops: Ints, costs: Ints) -> tuple[Ints, Ints, int]:
    """The set of the first `count` tokens that were found and of `stops`: places of words and words, as in `TokenBits`.
    The last item is the largest of `costs`, by configuration, of what those tokens reached.
    """
    tokens, farthest = np.empty(count + len(stops), np.int32), 0
    for i in range(count):
        tokens[i] = found.tokens[i]
        farthest = max(farthest, costs[found.reached[i]])
    tokens[count:] = stops
    places, words = words_of(tokens[: distinct(tokens, len(tokens))])
    return places, words, farthest
