"""Messages about beams between vLLM's scheduler and its workers with each step.

All are plain attributes of what vLLM itself sends: `Turns` of the scheduler's output, choices of the model runner's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ATTRIBUTE = "swyb"
"""Attribute under which messages about beams travel."""


@dataclass(frozen=True, slots=True)
class Turns:
    """`rows`: the searches that take this step, by name, with the names of their rows in the order of their beams: all
    of them are in the batch, with all their tokens. `over`: searches that have ended, or were given up.
    """

    rows: Mapping[str, tuple[str, ...]]
    over: tuple[str, ...]


NOTHING = Turns({}, ())


@dataclass(frozen=True, slots=True)
class Choice:
    """Choice of a search for its next step: row i of the next step extends row `parents[i]` of this one by `tokens[i]`.

    None do once it is over. `news`: what the front end is told, all in plain values: `agreed`, the text that all beams
    have in common so far, and `beams`, the tokens of the best ones (see `Decoder.best`); and in the end `answers` (see
    `told`) or a `failure`.
    """

    parents: tuple[int, ...] = ()
    tokens: tuple[tuple[int, ...], ...] = ()
    news: dict[str, Any] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        return not self.parents

    @staticmethod
    def failed(reason: str) -> Choice:
        return Choice(news={"failure": reason})


def choices_of(output: Any) -> Mapping[str, Choice]:
    """Choices by the names of searches, from a model runner's output."""
    found: Mapping[str, Choice] = getattr(output, ATTRIBUTE, {})
    return found
