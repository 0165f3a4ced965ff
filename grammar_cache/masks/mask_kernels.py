"""The compiled walks that masks are made by: tokens inside of a rule, and tokens that go on below it.

As in `walk`, a loop that can't go on returns where it stands and a status below 0, and goes on from there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.array_types import Ints, Longs
from grammar_cache.configurations.arena import (
    Arena,
    NetworkArrays,
)
from grammar_cache.configurations.interner import ROOT
from grammar_cache.configurations.step_kernels import at, expand
from grammar_cache.jit import jit_inline, jit_no_arrays
from grammar_cache.successors.token_kernels import TokenArrays
from grammar_cache.vocabulary.token_set import Bits

_SOME = 1
"""The level at which states are compared before they are walked."""


@jit_no_arrays
def inside(
    rules: NetworkArrays,
    arena: Arena,
    words: TokenArrays,
    deepest: Ints,
    kinds: Ints,
    first: int,
    levels: Ints,
    costs: Ints,
    begin: Ints,
    past_all: Ints,
    from_all: Ints,
    path: Ints,
    beside: Ints,
    done: int,
    i: int,
    bits: Bits,
    reached: NDArray[np.bool_],
    exits: Ints,
    exit_count: int,
    known: Ints,
    kept: int,
    dearer: int,
) -> tuple[int, int, int, int, int, int]:
    """Makes `bits` those of the tokens that are alive, and notes the exits and where tokens lead.

    It looks at the nodes from `begin[k]` to before `past_all[k]`, coming from configuration `from_all[k]`. Another path
    goes `beside`, whose bits they are so far and whose exits are `known`: where both go on alike for as long as tokens
    do, everything stays as it is, though it may be `dearer`. It goes on at number `done`, node i (0: at its begin).
    Returns both, how many `exits` there are now, how many known ones were passed, by how much what stayed is dearer,
    and the status.
    """
    while done < len(begin):
        if max(i, begin[done]) >= past_all[done]:
            done, i = done + 1, 0
            continue
        if i == 0:
            i = begin[done]
            path[words.depth[i] - 1] = from_all[done]
        depth, past = words.depth[i], words.skip[i]
        before, other = path[depth - 1], beside[depth - 1]
        if arena.row[before] < 0:
            status = expand(rules, arena, before)
            if status < 0:
                return done, i, exit_count, kept, dearer, status
        after = arena.next[arena.row[before], rules.classes[words.byte[i]]]
        if other >= 0:
            if arena.row[other] < 0:
                status = expand(rules, arena, other)
                if status < 0:
                    return done, i, exit_count, kept, dearer, status
            other = arena.next[arena.row[other], rules.classes[words.byte[i]]]
        same = after == other
        if not same and after >= 0 and other >= 0:
            level = 0
            while level < len(levels) and levels[level] < deepest[i] - depth:
                level += 1
            if level < len(levels) and _kind(arena, kinds, first, level, after) == _kind(
                arena, kinds, first, level, other
            ):
                same = True
                dearer = max(dearer, _cost(arena, costs, after) - _cost(arena, costs, other))
        if same or after < 0:
            while kept < len(known) and known[kept] < past:
                if after >= 0 and known[kept] >= i:
                    exits[exit_count] = known[kept]
                    exit_count += 1
                kept += 1
            if not same:
                for node in range(i, past):
                    _write(words, words.string[node], bits, False)
            i = past
            continue
        path[depth], beside[depth] = after, other
        if words.string[i] >= 0:
            _write(words, words.string[i], bits, True)
            reached[after] = True
        if arena.accepts[after] and past > i + 1:
            exits[exit_count] = i
            exit_count += 1
        i += 1
    return done, i, exit_count, kept, dearer, 0


@jit_inline
def _kind(arena: Arena, kinds: Ints, first: int, level: int, configuration: int) -> int:
    """Equal for configurations that are alike at a level: what is told of states of the rule, and of nothing else.

    A rule called at the end of this one returns to the root too: its states are another rule's.
    """
    if configuration >= 0 and arena.item_first[configuration + 1] == arena.item_first[configuration] + 1:
        item = arena.items[arena.item_first[configuration]]
        place = (item >> 32) - first
        if item & 0xFFFFFFFF == ROOT and 0 <= place < kinds.shape[1]:
            return int(kinds[level, place])
    return -2 - int(configuration)


@jit_inline
def _cost(arena: Arena, costs: Ints, configuration: int) -> int:
    return int(costs[arena.items[arena.item_first[configuration]] >> 32])


@jit_no_arrays
def outlook(rules: NetworkArrays, arena: Arena, state: int, weights: Longs) -> tuple[int, int]:
    """The configuration of a state above the root, expanded, and the weight of the byte classes that lead on from it.

    A status in place of the first, and nothing is lost, where that can't be.
    """
    number = at(rules, arena, state)
    if number >= 0 and arena.row[number] < 0:
        status = expand(rules, arena, number)
        if status < 0:
            return status, 0
    if number < 0:
        return number, 0
    alive = 0
    row = arena.row[number]
    for c in range(len(weights)):
        if arena.next[row, c] >= 0:
            alive += weights[c]
    return number, alive


@jit_no_arrays
def nearest(arena: Arena, kinds: Ints, first: int, origin: int, others: Ints, weights: Longs) -> tuple[int, int]:
    """The place among `others` whose rows go on for some bytes as that of `origin` does, behind byte classes of the
    most weight, and that weight. All of them are expanded; -1 and 0 if none goes on alike anywhere."""
    most, chosen = 0, -1
    row = arena.row[origin]
    for k in range(len(others)):
        other, total = arena.row[others[k]], 0
        for c in range(len(weights)):
            mine, theirs = arena.next[row, c], arena.next[other, c]
            if _kind(arena, kinds, first, _SOME, mine) == _kind(arena, kinds, first, _SOME, theirs):
                total += weights[c]
        if total > most:
            most, chosen = total, k
    return chosen, most


@jit_inline
def _write(words: TokenArrays, string: int, bits: Bits, alive: bool) -> None:
    """Sets or clears the bits of a string's tokens, if there is one."""
    if string >= 0:
        for t in range(words.offsets[string], words.offsets[string + 1]):
            bit = np.uint8(1 << (words.ids[t] & 7))
            if alive:
                bits[words.ids[t] >> 3] |= bit
            else:
                bits[words.ids[t] >> 3] &= ~bit


@jit_no_arrays
def below(
    rules: NetworkArrays,
    arena: Arena,
    words: TokenArrays,
    path: Ints,
    exits: Ints,
    after_exit: int,
    done: int,
    i: int,
    bits: Bits,
    reached: NDArray[np.bool_],
) -> tuple[int, int, int]:
    """Sets the bits of the tokens below the exits that are alive, and notes where they lead.

    Goes on at node i below exit number `done`, or at the exit itself where i is 0. Returns both, and the status. Exits
    lie below each other: a token may be found more than once.
    """
    while done < len(exits):
        if i == 0:
            i = exits[done] + 1
            path[words.depth[exits[done]]] = after_exit
        end = words.skip[exits[done]]
        while i < end:
            before = path[words.depth[i] - 1]
            if arena.row[before] < 0:
                status = expand(rules, arena, before)
                if status < 0:
                    return done, i, status
            after = arena.next[arena.row[before], rules.classes[words.byte[i]]]
            if after < 0:
                i = words.skip[i]
                continue
            path[words.depth[i]] = after
            if words.string[i] >= 0:
                _write(words, words.string[i], bits, True)
                reached[after] = True
            i += 1
        done, i = done + 1, 0
    return done, i, 0
