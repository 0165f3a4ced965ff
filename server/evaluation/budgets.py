"""Token budgets: one number for all tasks, or a multiple of each task's reference answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

PAPER = "32,64,120,256,512"
"""Budgets of the paper's JSON table."""
FINE = "16,24,32,48,64,96,120,192,256,384,512"
"""Budgets for the curve of validity against budget."""
TIGHT = "16,20,24,28,32,40,48"
"""Budgets from the fewest tokens of an answer on; below them it is refused."""
HARD = "1.0x,1.1x,1.2x,1.3x,1.4x,1.5x"
"""TruncProof's setting: T = ⌊r × tokens of the reference answer⌋; its table has r = 1.1."""


@dataclass(frozen=True, slots=True, order=True)
class Level:
    """`relative`: `value` is a factor; otherwise a number of tokens. Exact, so that 1.1 × 10 is 11."""

    relative: bool
    value: Fraction

    @property
    def label(self) -> str:
        return f"{float(self.value):g}x" if self.relative else str(int(self.value))

    def tokens(self, gold: int | None) -> int:
        """The budget of a task. Raises ValueError for a factor where nobody has counted the reference's tokens."""
        if not self.relative:
            return int(self.value)
        if gold is None:
            raise ValueError("budgets relative to the reference answers need a tokenizer: name a model's folder")
        return math.floor(self.value * gold)


def level(text: str) -> Level:
    """`120` or `1.1x`. Raises ValueError."""
    relative = text.endswith("x")
    number = text.removesuffix("x")
    if not number.replace(".", "", 1 if relative else 0).isdecimal() or not (value := Fraction(number)):
        raise ValueError(f"{text!r} is not a budget: a number of tokens, or a factor as in 1.1x")
    return Level(relative, value)


def levels(text: str) -> tuple[Level, ...]:
    """A list with commas, ascending and each once. Raises ValueError."""
    return tuple(sorted({level(part.strip()) for part in text.split(",")}))
