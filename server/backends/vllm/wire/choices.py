"""Messages between vLLM's scheduler and its workers with each step: about beams, and about what budgets chose.

All are plain attributes of what vLLM itself sends: `Turns` of the scheduler's output, choices and places of the model
runner's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

ATTRIBUTE = "swyb"
"""Attribute under which messages about beams travel."""
FORCED = "swyb_forced"
"""Attribute under which places travel; the front end is told by this name too."""

Forced: TypeAlias = tuple[int, ...]
"""Places of a single text's tokens that the budget chose, in order; that of an end token is behind the others."""


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


def forced_of(output: Any) -> Mapping[str, Forced]:
    """Places by the names of requests, from a model runner's output."""
    found: Mapping[str, Forced] = getattr(output, FORCED, {})
    return found
