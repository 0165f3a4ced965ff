"""The compiled walk of a configuration from which few tokens lead on, such as one in the middle of a declared key.

From each configuration the children of a node of the trie are looked at, which lie side by side; nothing is written for
tokens that lead nowhere. As in `token_kernels`, a loop that can't go on returns a status below 0.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from grammar_cache.algorithms.sorting import distinct
from grammar_cache.configurations.arena import UNKNOWN, WIDE, ArenaBlock, NetworkBlock, arena_in, breadth, rules_in
from grammar_cache.configurations.row_kernels import after_byte, expanded
from grammar_cache.distances.cost_kernels import CostsBlock, costs_in
from grammar_cache.loops.array_types import IntRows, Ints, Longs
from grammar_cache.loops.blocks import Block, BlockLayout
from grammar_cache.loops.jit import jit_no_arrays
from grammar_cache.masks.weight_kernels import weight_alive
from grammar_cache.successors.distinct_kernels import BREADTH_COST, NODE_COST, SOURCE_COST, row_cost
from grammar_cache.vocabulary.token_set_kernels import write_words_of
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
    """Room for `tokens`, and for what each has `reached`. `path`: int32[3, the longest token + 1]. `places` and `words`
    are those of `TokenBits`.
    """

    tokens: Ints
    reached: Ints
    path: IntRows
    places: Ints
    words: Ints

    @staticmethod
    def room(longest: int, stops: int) -> FewFound:
        """Room for tokens of at most so many bytes, and so many stop ids."""
        tokens, places, words = np.empty((3, MOST + stops), np.int32)
        return FewFound(tokens, np.empty(MOST, np.int32), np.empty((3, longest + 1), np.int32), places, words)


SPELLINGS, FOUND = BlockLayout(Spellings), BlockLayout(FewFound)
spellings_in, found_in = SPELLINGS.reader(), FOUND.reader()
SpellingsBlock: TypeAlias = Annotated[Block, SPELLINGS.block_type]
FoundBlock: TypeAlias = Annotated[Block, FOUND.block_type]


@jit_no_arrays
def few(
    rules_block: NetworkBlock,
    arena_block: ArenaBlock,
    weights: Longs,
    heavy: int,
    fuel: int,
    spellings_block: SpellingsBlock,
    configuration: int,
    found_block: FoundBlock,
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
    if weight_alive(arena, configuration, weights) > heavy:
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
                if count == MOST:
                    return MANY
                found.tokens[count], found.reached[count] = spellings.ids[t], after
                count += 1
        depth += 1
        path[_CONFIGURATION, depth], path[_NODE, depth], path[_CHILD, depth] = after, node, children.first[node]
    return count


@jit_no_arrays
def few_words(found_block: FoundBlock, costs_block: CostsBlock, count: int, stops: Ints) -> tuple[int, int]:
    """Writes the set of the first `count` tokens that were found and of `stops` as places and words: how many of these
    there are, and the largest cost of a configuration that the tokens reached.
    """
    found, costs, farthest = found_in(found_block), costs_in(costs_block).configurations, 0
    for i in range(count):
        farthest = max(farthest, costs[found.reached[i]])
    for i in range(len(stops)):
        found.tokens[count + i] = stops[i]
    size = distinct(found.tokens, count + len(stops))
    return write_words_of(found.tokens[:size], found.places, found.words), int(farthest)
