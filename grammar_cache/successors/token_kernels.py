"""The compiled loops: tokens through configurations, which are made as they are met.

A loop that can't go on returns where it stands, and a status below 0 that is for `Configurations.outcome`; called
again, it goes on from there. A place in the vocabulary is a node of its trie, and what `path` has by depth: the
configurations that its ancestors lead to. Configurations are int32, DEAD where a text leads nowhere.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configurations.arena import (
    DEAD,
    UNKNOWN,
    Arena,
    ArenaBlock,
    NetworkArrays,
    NetworkBlock,
    arena_in,
    rules_in,
)
from grammar_cache.configurations.row_kernels import after_byte
from grammar_cache.loops.array_types import Flags, FrozenOctets, IntRows, Ints
from grammar_cache.loops.blocks import Block, BlockLayout, Packed
from grammar_cache.loops.jit import call_at, jit_inline, jit_no_arrays
from grammar_cache.vocabulary.token_set import Bits
from grammar_cache.vocabulary.vocabulary import Vocabulary


class TokenArrays(NamedTuple):
    """The arrays of a vocabulary that the loops read; see `Trie` and `Vocabulary`."""

    byte: NDArray[np.uint8]
    first: NDArray[np.uint8]
    depth: Ints
    skip: Ints
    string: Ints
    lengths: Ints
    offsets: Ints
    ids: Ints
    data: NDArray[np.uint8]
    data_offsets: Ints
    longest: int

    @staticmethod
    def of(vocabulary: Vocabulary) -> TokenArrays:
        trie = vocabulary.trie
        return TokenArrays(
            trie.byte,
            vocabulary.first_bytes,
            trie.depth,
            trie.skip,
            trie.string,
            vocabulary.lengths,
            vocabulary.token_offsets,
            vocabulary.token_list,
            vocabulary.data,
            vocabulary.data_offsets,
            vocabulary.longest,
        )


_WORDS = BlockLayout(TokenArrays)
words_in = _WORDS.reader()
WordsBlock: TypeAlias = Annotated[Block, _WORDS.block_type]


class PackedWords:
    """Arrays of one vocabulary, packed once: see `Vocabulary.cache`."""

    def __init__(self) -> None:
        self._packed: Packed[TokenArrays] | None = None

    def of(self, vocabulary: Vocabulary) -> Packed[TokenArrays]:
        """The arrays of the vocabulary that this is a cache of."""
        if self._packed is None:
            self._packed = _WORDS.packed(TokenArrays.of(vocabulary))
        return self._packed


@jit_no_arrays
def follow(
    rules_block: NetworkBlock,
    arena_block: ArenaBlock,
    data: FrozenOctets,
    once: bool,
    done: int,
    configuration: int,
    behind: Ints,
) -> tuple[int, int, int]:
    """Goes on from byte number `done`: how far it came, the configuration there or DEAD, and the status. What is
    `behind` each byte is noted. `once`: nothing else is made on the way that hasn't to be.
    """
    rules, arena = rules_in(rules_block), arena_in(arena_block)
    while done < len(data) and configuration >= 0:
        if once:
            after = call_at(rules.after_byte_alone, (rules, arena, configuration, data[done]))
        else:
            after = after_byte(rules, arena, configuration, data[done])
        if after < UNKNOWN:
            return done, configuration, after
        behind[done] = configuration = after
        done += 1
    return done, configuration, 0


@jit_inline
def dearness(rules: NetworkArrays, arena: Arena, configuration: int) -> int:
    """Part that reading a byte from a configuration has in what a token may cost; its row is made."""
    cost: int = arena.costs[configuration]
    return cost if cost > rules.dear else 0


@jit_no_arrays
def consume(
    rules_block: NetworkBlock,
    arena_block: ArenaBlock,
    words_block: WordsBlock,
    configurations: Ints,
    tokens: IntRows,
    after: IntRows,
    done: int,
) -> tuple[int, int]:
    """Fills `after` [rows, tokens a row] from entry number `done` on: how many are done, and the status.

    Ids outside the vocabulary, ids without bytes, and tokens that cost too much lead nowhere.
    """
    rules, arena, words = rules_in(rules_block), arena_in(arena_block), words_in(words_block)
    rows, width = tokens.shape
    while done < rows * width:
        i, j = done // width, done % width
        at = _after_token(rules, arena, words, configurations[i], tokens[i, j])
        if at < UNKNOWN:
            return done, at
        after[i, j] = at
        done += 1
    return done, 0


@jit_no_arrays
def after_token(
    rules_block: NetworkBlock, arena_block: ArenaBlock, words_block: WordsBlock, configuration: int, token: int
) -> int:
    """The configuration behind one token, as `consume` has it; or a status below UNKNOWN."""
    rules, arena, words = rules_in(rules_block), arena_in(arena_block), words_in(words_block)
    return int(_after_token(rules, arena, words, configuration, token))


@jit_inline
def _after_token(rules: NetworkArrays, arena: Arena, words: TokenArrays, at: int, token: int) -> int:
    if token < 0 or token >= len(words.data_offsets) - 1 or words.data_offsets[token] == words.data_offsets[token + 1]:
        return DEAD
    spent = 0
    for k in range(words.data_offsets[token], words.data_offsets[token + 1]):
        if at < 0:
            return at
        before = at
        at = after_byte(rules, arena, before, words.data[k])
        if at >= UNKNOWN:
            spent += dearness(rules, arena, before)
        if spent > rules.widest:
            return DEAD
    return at


@jit_inline
def visit(rules: NetworkArrays, arena: Arena, words: TokenArrays, path: Ints, node: int) -> tuple[int, int]:
    """A node of the trie: the configuration behind its byte, which it adds to `path`, and the node to go on with.

    Nothing below a node is alive that leads nowhere (DEAD). A status, which is below UNKNOWN, in place of the
    configuration: nothing is lost, and the node is to be visited again.
    """
    depth = words.depth[node]
    after = after_byte(rules, arena, path[depth - 1], words.byte[node])
    if after >= 0:
        path[depth] = after
        return after, node + 1
    return after, words.skip[node] if after == DEAD else node


@jit_inline
def read(rules: NetworkArrays, arena: Arena, words: TokenArrays, path: Ints, spent: Ints, node: int) -> tuple[int, int]:
    """A node as in `visit`; tokens that cost too much lead nowhere. `spent` is what is counted of that, by depth."""
    depth = words.depth[node]
    after, following = visit(rules, arena, words, path, node)
    if after >= UNKNOWN:
        spent[depth] = spent[depth - 1] + dearness(rules, arena, path[depth - 1])
        if spent[depth] > rules.widest:
            return DEAD, words.skip[node]
    return after, following


@jit_inline
def write(words: TokenArrays, string: int, bits: Bits, alive: bool) -> bool:
    """Sets or clears the bits of a string's tokens, if there is one: whether that changed any."""
    changed = False
    if string >= 0:
        for t in range(words.offsets[string], words.offsets[string + 1]):
            bit = np.uint8(1 << (words.ids[t] & 7))
            changed |= (bits[words.ids[t] >> 3] & bit > 0) != alive
            if alive:
                bits[words.ids[t] >> 3] |= bit
            else:
                bits[words.ids[t] >> 3] &= ~bit
    return changed


@jit_no_arrays
def clear(words_block: WordsBlock, begin: Ints, past: Ints, bits: Bits) -> None:
    """Clears the bits of the tokens from each of some nodes of the trie to before another one."""
    words = words_in(words_block)
    for k in range(len(begin)):
        for here in range(begin[k], past[k]):
            write(words, words.string[here], bits, False)


class TokenWalks(NamedTuple):
    """Walks over the nodes of the trie from each of `begin` to before `past`, with the configurations `before` them."""

    begin: Ints
    past: Ints
    before: Ints


@jit_no_arrays
def tokens_into(
    rules_block: NetworkBlock,
    arena_block: ArenaBlock,
    words_block: WordsBlock,
    path: Ints,
    spent: Ints,
    walks: TokenWalks,
    chosen: Flags,
    bits: Bits,
    number: int,
    node: int,
) -> tuple[int, int, int]:
    """Sets the bits of the tokens that lead to `chosen` configurations: the walk, its node, and the status.

    Begun again from a walk and its node; node 0 is where a walk begins.
    """
    rules, arena, words = rules_in(rules_block), arena_in(arena_block), words_in(words_block)
    while number < len(walks.begin):
        if node == 0:
            node = walks.begin[number]
            path[words.depth[node] - 1], spent[words.depth[node] - 1] = walks.before[number], 0
        while node < walks.past[number]:
            here = node
            after, node = read(rules, arena, words, path, spent, here)
            if after < UNKNOWN:
                return number, node, after
            if 0 <= after < len(chosen) and chosen[after]:
                write(words, words.string[here], bits, True)
        number, node = number + 1, 0
    return number, 0, 0
