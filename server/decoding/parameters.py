"""Parameters of decoding one answer: numbers and names of variants, checked where the request is read."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Promotion: TypeAlias = Literal["viable", "closing", "proposals", "slack", "penalty", "none"]
Softmax: TypeAlias = Literal["viable", "vocabulary"]
Ranking: TypeAlias = Literal["sum", "normalised", "model"]
Ending: TypeAlias = Literal["candidate", "freeze"]
Jump: TypeAlias = bool | Literal["text"]


@dataclass(frozen=True, slots=True)
class Parameters:
    """`budget`: tokens the answer may have (T). `beam_width`: M ≥ 1. `alpha`: α_min of the distance-guided scoring.

    `answers`: how many texts are wanted, at most M. `candidates`: the model's top-k tokens that a beam looks at.
    `temperature` > 0 with M = 1 samples, truncated to `top_k` tokens (0: all), then to the `top_p` nucleus, of the
    viable ones; with M > 1 it only scales the logits. `seed` None: drawn from the system when an answer begins.
    `stops`: texts that end a plain answer, and are no part of it. `jump_forward`: whether tokens without an alternative
    are taken without the model; "text": the language is a `ForcedText`, which has more of them.

    Beams and greedy answers have variants. `promotion`: which tokens α moves, and where to; `softmax`: what the guided
    scores are normalised over (see `distance_scoring` for both). `ranking`: which complete text is the best (see
    `ranking`). `ending`: whether a complete text may go on (see `language`; for drawn answers too).
    """

    budget: int
    beam_width: int = 1
    answers: int = 1
    alpha: float = 0.0
    candidates: int = 64
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int | None = None
    jump_forward: Jump = True
    stops: tuple[bytes, ...] = ()
    promotion: Promotion = "viable"
    softmax: Softmax = "viable"
    ranking: Ranking = "sum"
    ending: Ending = "candidate"

    @property
    def samples(self) -> bool:
        """Whether tokens are drawn rather than ranked."""
        return self.beam_width == 1 and self.temperature > 0

    @property
    def scale(self) -> float:
        """Divisor of logits."""
        return self.temperature or 1.0

    def seeded(self) -> Parameters:
        """Copy with a seed."""
        return self if self.seed is not None else replace(self, seed=secrets.randbits(64))

    @property
    def needs_model_scores(self) -> bool:
        """Whether anything depends on the model's own log-probabilities, over the whole vocabulary."""
        return self.softmax == "vocabulary" or self.ranking == "model"
