"""Products of random complete automata, beside following both automata at once."""

from __future__ import annotations

from random import Random

import numpy as np

from grammar_cache.automata.product import product
from grammar_cache.automata.subset_kernels import DONE, STOPPED, TOO_LARGE

GO_ON, STOP = np.zeros(1, np.uint8), np.ones(1, np.uint8)


def table(random: Random, states: int, width: int) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    return np.array([[random.randrange(states) for _ in range(width)] for _ in range(states)], np.int32)


def test_a_product_accepts_what_both_accept() -> None:
    random = Random("product")
    sizes = []
    for _ in range(60):
        a, b = table(random, random.randrange(1, 25), 3), table(random, random.randrange(1, 25), 2)
        final_a = np.array([random.random() < 0.4 for _ in a])
        final_b = np.array([random.random() < 0.4 for _ in b])
        ours, theirs = np.array([0, 1, 1, 2], np.int32), np.array([0, 0, 1, 1], np.int32)
        outcome, both, final = product(a, b, ours, theirs, final_a, final_b, 10_000, GO_ON)
        assert outcome == DONE
        sizes.append(len(both))
        for _ in range(200):
            p = q = state = 0
            for letter in [random.randrange(4) for _ in range(random.randrange(12))]:
                p, q, state = a[p, ours[letter]], b[q, theirs[letter]], both[state, letter]
            assert final[state] == (final_a[p] and final_b[q])
    assert max(sizes) > 200, "tables had to grow"


def test_a_product_has_a_limit_and_can_be_stopped() -> None:
    random = Random("limit")
    a, b = table(random, 20, 4), table(random, 20, 4)
    same, final = np.arange(4, dtype=np.int32), np.ones(20, np.bool_)
    outcome, both, _ = product(a, b, same, same, final, final, 10_000, GO_ON)
    assert outcome == DONE
    assert product(a, b, same, same, final, final, len(both), GO_ON)[0] == DONE
    assert product(a, b, same, same, final, final, len(both) - 1, GO_ON)[0] == TOO_LARGE
    assert product(a, b, same, same, final, final, 10_000, STOP)[0] == STOPPED
