"""Steps of a trace, as clients are told them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, TypeAlias

Chooser: TypeAlias = Literal["model", "alternative", "grammar", "budget", "witness"]
"""Chooser of a token: the model, whose favourite of all tokens it is; the search or the draw, which took an alternative
though the favourite was viable; the grammar or the budget, which kept the favourite out; or the shortest completion,
which was followed.
"""

Fate: TypeAlias = Literal["taken", "kept", "worse", "grammar", "budget"]
"""Fate of a candidate: the row has it, another row of the same parent has it, none has it though it was viable, the
grammar refused it, or only the budget did.
"""

SHOWN_CHARACTERS = 80
"""Characters at the end of a row's text that are told."""

_STEP_BYTES = 80
_ROW_BYTES = 260
_TOKEN_BYTES = 120
_BYTE_BYTES = 4


@dataclass(frozen=True, slots=True)
class TracedToken:
    """Token that the model was asked about. `logprob`: the model's own, before penalties and temperature.

    `bytes`: those of a token that begins or ends within a character, else null.
    """

    id: int
    text: str
    bytes: tuple[int, ...] | None
    logprob: float


@dataclass(frozen=True, slots=True)
class JumpedToken:
    """Token that the model wasn't asked about; `bytes` as of others."""

    id: int
    text: str
    bytes: tuple[int, ...] | None
    by: Chooser


@dataclass(frozen=True, slots=True)
class TracedCandidate:
    """Token that the model thought of. `logit`: as it was ranked, behind penalties and before temperature.

    `distance`: tokens still needed behind it, at most; null where the grammar refuses it.
    """

    id: int
    text: str
    logit: float
    logprob: float
    distance: int | None
    fate: Fate


@dataclass(frozen=True, slots=True)
class TracedRow:
    """A kept text, `row` among all that are kept. `parent`: its row in the step before; null at the start.

    `token` and `by` null: the text ended before, or the model wasn't asked. `jumped`: tokens behind it that had no
    alternative. `tokens_left` and `distance` are those behind all of them, `text` is the end of the text. `score`: the
    guided sum of a beam. `ended`: nothing follows. `answer`: number of the answer that it is, once they are there.
    """

    row: int
    parent: int | None
    tokens_left: int
    distance: int
    text: str
    token: TracedToken | None
    by: Chooser | None
    jumped: tuple[JumpedToken, ...]
    score: float | None
    ended: bool
    answer: int | None
    candidates: tuple[TracedCandidate, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes of the row as JSON, at most."""
        tokens: list[TracedToken | JumpedToken] = [*self.jumped, *([self.token] if self.token else [])]
        texts = [self.text, *(one.text for one in tokens), *(one.text for one in self.candidates)]
        sizes = (len(json.dumps(text, ensure_ascii=False).encode()) for text in texts)
        split = sum(len(one.bytes or ()) for one in tokens)
        return _ROW_BYTES + _TOKEN_BYTES * len(texts) + sum(sizes) + _BYTE_BYTES * split


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of the model and the rows that were kept; step 0 is what comes before the model.

    `tokens_left`: the most that a row has left. `truncated`: the trace ends here, for want of room.
    """

    step: int
    tokens_left: int
    rows: tuple[TracedRow, ...]
    truncated: bool

    @property
    def size_bytes(self) -> int:
        """Bytes of the step as JSON, at most."""
        return _STEP_BYTES + sum(row.size_bytes for row in self.rows)


def step_of(number: int, rows: tuple[TracedRow, ...]) -> TraceStep:
    """Step with these rows."""
    return TraceStep(number, max((row.tokens_left for row in rows), default=0), rows, truncated=False)


def cut_off(number: int) -> TraceStep:
    """Last step of a trace that has no more room."""
    return TraceStep(number, 0, (), truncated=True)


def token_text(text: bytes) -> tuple[str, tuple[int, ...] | None]:
    """Text of a token, and its bytes where they are no text by themselves."""
    try:
        return text.decode(), None
    except UnicodeDecodeError:
        return text.decode(errors="replace"), tuple(text)


def shown(text: bytes) -> str:
    """End of a text, as a row tells it."""
    return text[-5 * SHOWN_CHARACTERS :].decode(errors="replace")[-SHOWN_CHARACTERS:]
