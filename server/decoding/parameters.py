"""Parameters of decoding one answer: numbers and names of variants, checked where the request is read."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Promotion: TypeAlias = Literal["viable", "closing", "proposals", "slack", "penalty", "flat", "none"]
Softmax: TypeAlias = Literal["viable", "grammar", "vocabulary"]
Ranking: TypeAlias = Literal["sum", "normalised", "model"]
Ending: TypeAlias = Literal["candidate", "freeze"]
Jump: TypeAlias = bool | Literal["text"]

UNLIMITED = 1 << 28
"""A budget that forces nothing."""


@dataclass(frozen=True, slots=True)
class Penalties:
    """Taken off a logit: `presence` where the answer has the token, `frequency` for each time it has.

    Above 1, `repetition` divides a positive logit of a token that the prompt or the answer has, and multiplies a
    negative one. `bias`: pairs (token, what is added to its logit). `last`: tokens at the end of prompt and answer that
    count, all of them with -1.
    """

    presence: float = 0.0
    frequency: float = 0.0
    repetition: float = 1.0
    bias: tuple[tuple[int, float], ...] = ()
    last: int = -1

    @property
    def asked(self) -> Mapping[str, bool]:
        """Fields of a request, and whether each one changes anything."""
        return {
            "presence_penalty": self.presence != 0,
            "frequency_penalty": self.frequency != 0,
            "repetition_penalty": self.repetition != 1,
            "logit_bias": bool(self.bias),
        }


NO_PENALTIES = Penalties()


@dataclass(frozen=True, slots=True)
class Parameters:
    """`budget`: tokens the answer may have (T). `beam_width`: M ≥ 1. `alpha`: α_min of the distance-guided scoring.

    `answers`: how many texts are wanted, at most M. `candidates`: the model's top-k tokens that a beam looks at.
    `temperature` > 0 with M = 1 samples, truncated to `top_k` tokens (0: all), then to the `top_p` nucleus, then to
    those at least `min_p` times as likely as the best, of the viable ones; with M > 1 it only scales the logits. `seed`
    None: drawn from the system when an answer begins. `stops`: texts that end a plain answer, and are no part of it.
    `jump_forward`: whether tokens without an alternative are taken without the model; "text": the language is a
    `ForcedText`, which has more of them.

    `penalties` change logits before anything else. `stop_ids`: tokens that end a plain answer as end tokens do. No end
    is taken before `min_tokens` tokens, and no end token of the model at all if `ignore_end`, as long as another token
    is viable. `logprobs` with M = 1: the log-probabilities of the tokens are told, and of so many likeliest ones.
    `special_names`: whether texts show special tokens by their names (see `Vocabulary.text`).

    Beams and greedy answers have variants. `promotion`: which tokens α moves, and where to; `softmax`: what the guided
    scores are normalised over (see `distance_scoring` for both). `ranking`: which complete text is the best (see
    `ranking`). `ending`: whether a complete text may go on (see `language`; for drawn answers too). `keep_greedy`: the
    text of one beam keeps one of the M places. `epsilon`: least share of the model that a beam's candidates have, but
    for the best. `trace_bytes`: room for a trace of the search (see `tracing`); 0: none is made.
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
    min_p: float = 0.0
    penalties: Penalties = NO_PENALTIES
    stop_ids: tuple[int, ...] = ()
    min_tokens: int = 0
    ignore_end: bool = False
    logprobs: int | None = None
    special_names: bool = False
    keep_greedy: bool = False
    epsilon: float = 0.0
    trace_bytes: int = 0

    @property
    def samples(self) -> bool:
        """Whether tokens are drawn rather than ranked."""
        return self.beam_width == 1 and self.temperature > 0

    @property
    def truncates(self) -> bool:
        """Whether some viable tokens are not drawn."""
        return self.top_k > 0 or self.top_p < 1.0 or self.min_p > 0.0

    @property
    def local(self) -> tuple[str, ...]:
        """Fields of a request that are set here, and that only a decoder beside its engine honours."""
        asked = {
            "min_p": self.min_p > 0,
            **self.penalties.asked,
            "stop_token_ids": bool(self.stop_ids),
            "min_tokens": self.min_tokens > 0,
            "ignore_eos": self.ignore_end,
            "logprobs": self.logprobs is not None,
        }
        return tuple(name for name, is_set in asked.items() if is_set)

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
