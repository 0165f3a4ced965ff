"""Infinite words that repeat from some place on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Letter: TypeAlias = frozenset[str]
"""The propositions that hold at one moment; all others don't."""


@dataclass(frozen=True, slots=True)
class Lasso:
    """The word that starts with `prefix` and goes on with `cycle` for ever; the cycle has a letter at least."""

    prefix: tuple[Letter, ...]
    cycle: tuple[Letter, ...]

    def __str__(self) -> str:
        return " ".join([*map(_shown, self.prefix), "(", *map(_shown, self.cycle), ") for ever"])


def _shown(letter: Letter) -> str:
    return "{" + ", ".join(sorted(letter)) + "}"
