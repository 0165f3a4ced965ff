"""Findings of the search for the fewest tokens, written without the numbers of configurations: for another process.

A completion is told by its strings, so that whoever is told replays it: what is said to complete a text has completed
it there before it is believed. What can't be replayed is that nothing shorter exists.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grammar_cache.arrays.checks import divides, require, within
from grammar_cache.configurations.interner import DEAD
from grammar_cache.distances.beam_bound import STEP_COST, Completion
from grammar_cache.distances.exact_search import ExactSearch, SearchOutcome
from grammar_cache.loops.array_types import Ints
from grammar_cache.successors.distinct_kernels import SOURCE_COST
from grammar_cache.successors.tables import ENDLESS, SuccessorTables
from grammar_cache.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """`path`: the strings of the completion that the descent found, from the start on; empty if it found none.

    Where the exact search found shortest completions, the configurations on them stand in levels, a token apart. Level
    k has the places `level_first[k]` to `level_first[k + 1]`, the first one only the start. A place is reached from
    `parent` by `string` (-1 at the start), and goes on by `onward` (-1 in the last level: all texts are complete).
    An answer has at least `least` tokens; where none was found, `dry` if looking again would tell no more.
    """

    path: Ints
    level_first: Ints
    parent: Ints
    string: Ints
    onward: Ints
    least: int
    dry: bool


def tell(tables: SuccessorTables, search: ExactSearch, path: Completion, start: int) -> Findings:
    """Findings of the searches from the start, whatever else has been searched since."""
    outcome = search.outcome(start) or SearchOutcome(None, 0, False)
    ahead = sorted(path.values(), reverse=True)
    first, places = _levels(tables, search, start, outcome.distance)
    unknown = outcome.distance is None
    return Findings(
        path=np.array([string for _, string in ahead[:-1]], np.int32),
        level_first=np.array(first, np.int32),
        parent=np.array([parent for parent, _, _ in places], np.int32),
        string=np.array([string for _, string, _ in places], np.int32),
        onward=np.array([onward for _, _, onward in places], np.int32),
        least=outcome.proved,
        dry=outcome.dry and unknown,
    )


def _levels(
    tables: SuccessorTables, search: ExactSearch, start: int, distance: int | None
) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Offset of each level, and (parent, string, onward string) by place.

    A search from the start meets all configurations of shortest completions, so that the exact distance of each is
    known; those of other successors are known or not, but they are larger.
    """
    if not distance:
        return [0], []
    first, places, level = [0], [(-1, -1, search.witness(start))], [start]
    for left in range(distance - 1, -1, -1):
        first.append(len(places))
        following: list[int] = []
        seen: set[int] = set()
        for parent, configuration in enumerate(level, start=first[-2]):
            [found] = tables.expand([configuration], ENDLESS)
            for after, string in zip(found.configurations.tolist(), found.strings.tolist(), strict=True):
                if after not in seen and search.known(after) == left:
                    seen.add(after)
                    following.append(after)
                    places.append((parent, string, search.witness(after) if left else -1))
        level = following
    return [*first, len(places)], places


def replay(
    found: Findings, tables: SuccessorTables, vocabulary: Vocabulary, search: ExactSearch, start: int, fuel: int
) -> Completion:
    """Teaches a grammar what was found by searches with so much fuel; returns the descent's path.

    Raises ArtefactError where something isn't so, or isn't whole; LimitExceeded(configurations).
    """
    _check(found, len(vocabulary.strings))
    _check_effort(found, fuel)
    path = _replayed_path(found.path, tables, start)
    if not len(found.parent):
        search.learn(start, SearchOutcome(None, found.least, found.dry, found.least))
        return path
    left = _replayed_levels(found, tables, vocabulary, start)
    for (configuration, tokens), string in zip(left.items(), found.onward.tolist(), strict=True):
        search.learn(configuration, SearchOutcome(tokens, tokens, False, min(tokens, found.least)), string)
    return path


def _check(found: Findings, strings: int) -> None:
    """Checks that all places lead to the level before theirs, and that all strings exist."""
    first, count = found.level_first, len(found.parent)
    require(count == len(found.string) == len(found.onward), "places of completions are not whole")
    require(within(found.path, 0, strings) and found.least >= 0, "what a search found isn't there")
    levels = len(first) - 1
    require(len(first) > 0 and divides(first, levels, count), "levels of completions are not whole")
    if not count:
        return
    require(levels > 1 and first[1] == 1 and (first[1:] > first[:-1]).all(), "a level of completions is empty")
    level, last = np.repeat(np.arange(levels), np.diff(first))[1:], int(first[-2])
    linked = (found.parent[1:] >= first[level - 1]) & (found.parent[1:] < first[level])
    ends = found.parent[0] == found.string[0] == -1 and (found.onward[last:] == -1).all()
    require(linked.all() and ends, "places of completions are linked otherwise")
    named = within(found.string[1:], 0, strings) and within(found.onward[:last], 0, strings)
    require(named, "a completion has a string that isn't there")


def _check_effort(found: Findings, fuel: int) -> None:
    """Checks that searches with so much fuel come so far: to follow more would leave the grammar full for good."""
    looked_at = int(found.level_first[-2]) if len(found.parent) else 0
    far = len(found.path) * STEP_COST > fuel or looked_at * SOURCE_COST > fuel
    require(not far, "a search has found more than it can")


def _replayed_path(strings: Ints, tables: SuccessorTables, start: int) -> Completion:
    if not len(strings):
        return {}
    reached = np.append(start, tables.consume_strings(start, strings)).tolist()
    require(DEAD not in reached and len(set(reached)) == len(reached), "the path of a completion leads nowhere")
    require(tables.accepts(reached[-1]), "the path of a completion doesn't end")
    ahead = range(len(strings), -1, -1)
    return dict(zip(reached, zip(ahead, [*strings.tolist(), -1], strict=True), strict=True))


def _replayed_levels(found: Findings, tables: SuccessorTables, vocabulary: Vocabulary, start: int) -> dict[int, int]:
    """The configurations at all places, in their order, and how many tokens complete each."""
    spelling = vocabulary.token_list[vocabulary.token_offsets[:-1]]
    first, depth = found.level_first, len(found.level_first) - 2

    def after(configurations: Ints, strings: Ints) -> Ints:
        return tables.consume(configurations, spelling[strings].reshape(-1, 1)).reshape(-1)

    reached = np.full(len(found.parent), start, np.int32)
    for begin, past in zip(first[1:-1].tolist(), first[2:].tolist(), strict=True):
        reached[begin:past] = after(reached[found.parent[begin:past]], found.string[begin:past])
    tokens = np.repeat(np.arange(depth, -1, -1), np.diff(first)).tolist()
    left = dict(zip(reached.tolist(), tokens, strict=True))
    require(len(left) == len(reached) and DEAD not in left, "a completion that is said to be shortest leads nowhere")
    before = slice(int(first[-2]))
    onward = after(reached[before], found.onward[before]).tolist()
    nearer = all(left.get(to) == of - 1 for of, to in zip(tokens[before], onward, strict=True))
    complete = all(tables.accepts(configuration) == (of == 0) for configuration, of in left.items())
    require(nearer and complete, "a completion that is said to be shortest is none")
    return left
