"""What one token reaches from each state: the walks that costs are solved on. It makes configurations as it goes."""

from __future__ import annotations

import numpy as np
from numba import njit

from grammar_cache.arena import Ints, Rules, Store
from grammar_cache.configuration import Configurations
from grammar_cache.stepping import at, expand
from grammar_cache.walk import Tokens


def reach(configurations: Configurations, words: Tokens, states: Ints) -> Ints:
    """Rows (state, configuration one token away, a short string that leads there), states as they come.

    A state's rows come from one walk, and depend on nothing but what the state can read.
    Raises LimitExceeded(configurations), Interrupted.
    """
    done = rows = 0
    found = np.empty((8 * len(states) + 1024, 3), np.int32)
    while done < len(states):
        done, rows, status = _reach(configurations.rules, configurations.store, words, states, done, found, rows)
        if status < 0:
            configurations.outcome(status)
        elif done < len(states):
            found = np.concatenate([found, np.empty_like(found)])
    return found[:rows]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _reach(
    rules: Rules, store: Store, words: Tokens, states: Ints, done: int, found: Ints, rows: int
) -> tuple[int, int, int]:
    """Goes on from state number `done` with `rows` found: returns both anew, and a status below 0 if it had to stop.

    Nothing is looked at below a string that leads where a string no longer than it led before, or back to its
    state's own configuration: what follows it is found from there. That may leave out a cheaper token, never one that
    costs rely on.
    """
    capacity = len(store.accepts)
    path = np.empty(words.longest + 1, np.int32)
    stamp, shortest = np.full(capacity, -1, np.int32), np.empty(capacity, np.int32)
    row_of = np.empty(capacity, np.int32)
    for k in range(done, len(states)):
        begin = rows
        origin = at(rules, store, states[k])
        if origin < 0:
            return k, begin, origin
        path[0] = origin
        i = 1
        while i < len(words.byte):
            before = path[words.depth[i] - 1]
            if store.row[before] < 0:
                status = expand(rules, store, before)
                if status < 0:
                    return k, begin, status
            after = store.next[store.row[before], rules.classes[words.byte[i]]]
            if after < 0:
                i = words.skip[i]
                continue
            path[words.depth[i]] = after
            if words.string[i] >= 0:
                if after == origin or (stamp[after] == k and shortest[after] <= words.depth[i]):
                    i = words.skip[i]
                    continue
                shortest[after] = words.depth[i]
                if stamp[after] != k:
                    if rows == len(found):
                        return k, begin, 0
                    stamp[after] = k
                    row_of[after] = rows
                    found[rows, 0], found[rows, 1] = states[k], after
                    rows += 1
                found[row_of[after], 2] = words.string[i]
            i += 1
    return len(states), rows, 0
