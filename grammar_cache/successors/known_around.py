"""Tokens from configurations as far as they are known without a walk byte by byte: by loops, or by classes of bytes."""

from __future__ import annotations

import numpy as np

from grammar_cache.configurations.interner import Configurations
from grammar_cache.loops.array_types import Flags, Ints, Longs
from grammar_cache.successors.class_walks import ClassWalks
from grammar_cache.successors.distinct_kernels import row_cost
from grammar_cache.successors.loop_exits import KnownExits
from grammar_cache.successors.remaining_walks import Around


class KnownAround:
    """Knowledge around the configurations of one grammar."""

    def __init__(self, configurations: Configurations, exits: KnownExits, class_walks: ClassWalks) -> None:
        self._configurations = configurations
        self._exits = exits
        self._class_walks = class_walks

    def of(self, configurations: Ints, wide: Flags, costs: Longs, fuel: int) -> list[Around | None]:
        """Finds what is known around each configuration that is wide (see `ClassWalks.wide`), given what each costs by
        itself. No more is looked at than the fuel would last for if nothing were found.
        """
        arena, found, spent = self._configurations.arena, list[Around | None]([None] * len(configurations)), 0
        numbers = np.flatnonzero(wide)
        for k, due in zip(numbers.tolist(), costs.cumsum()[numbers].tolist(), strict=True):
            if due + spent > fuel:
                break
            known = found[k] = self._of_one(int(configurations[k]), fuel - due - spent)
            if known is not None:
                spent += known.cost
            elif arena.row[configurations[k]] >= 0:
                spent += row_cost(arena, int(configurations[k]))
        return found

    def _of_one(self, configuration: int, fuel: int) -> Around | None:
        loop = self._exits.around(configuration)
        if loop is None:
            return self._class_walks.around(configuration, fuel)
        exits, at = loop
        return Around(exits.begin, exits.past, at[exits.before], at[exits.ends], exits.shortest, exits.visited)
