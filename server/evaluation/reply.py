"""Reply of a method to a task: a text and its cost, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["answered", "refused", "failed"]
"""Refused: by the method, knowingly. Failed: something broke; unless that is settled, the next run tries again."""


@dataclass(frozen=True, slots=True)
class Reply:
    """`tokens` are all that were generated, end tokens and rejected samples included; `token_ids` those of the text,
    None where a server doesn't tell. `complete`: the text ended by itself. `settled`: any larger budget would have
    given the same. `seconds`: from the question to the text, without compiling. `min_tokens`: what an answer needs at
    least, where the method knows. `forced_tokens`: chosen by the budget, not by the model.
    """

    outcome: Outcome
    reason: str = ""
    text: str | None = None
    token_ids: tuple[int, ...] | None = None
    tokens: int = 0
    complete: bool = False
    settled: bool = False
    seconds: float = 0.0
    compile_ms: float | None = None
    min_tokens: int | None = None
    forced_tokens: int | None = None
