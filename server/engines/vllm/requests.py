"""What a request tells the filter in vLLM's workers: plain values that travel in `SamplingParams.extra_args`.

The front end writes them, the workers read them; both check them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

from server.decoding.parameters import Ending, Parameters, Promotion, Ranking, Softmax

KEY = "swyb"
"""Of the request's values among the extra arguments."""

Mode: TypeAlias = Literal["draw", "beam"]

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "mode": get_args(Mode),
    "promotion": get_args(Promotion),
    "softmax": get_args(Softmax),
    "ranking": get_args(Ranking),
    "ending": get_args(Ending),
}
_LEAST: Mapping[str, float] = {
    "budget": 0,
    "prompt_tokens": 0,
    "seed": 0,
    "candidates": 1,
    "temperature": 0,
    "top_p": 0,
    "top_k": 0,
    "alpha": 0,
}
_MOST: Mapping[str, float] = {"seed": (1 << 64) - 1, "top_p": 1, "alpha": 1}

NEUTRAL: Mapping[str, object] = {
    "n": 1,
    "seed": None,
    "min_tokens": 0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "repetition_penalty": 1.0,
    "logit_bias": None,
    "allowed_token_ids": None,
    "bad_words": None,
    "structured_outputs": None,
    "thinking_token_budget": None,
}
"""vLLM's own sampling parameters that would choose other tokens, at the values that do nothing."""


@dataclass(frozen=True, slots=True)
class RowRequest:
    """How one request's tokens are chosen; the fields that `Parameters` has too mean the same.

    `request`: a name of its own, which reports and interrupted work are found by. `grammar`: the id that the workers
    know a grammar by; None: any text. The answer so far is all tokens of prompt and output behind the first
    `prompt_tokens`, and may have `budget` tokens.

    Mode "draw": the filter chooses the token and leaves vLLM no other; it needs a seed. Mode "beam": the row keeps
    the candidates of the step, for the front end to choose from: see `beams`.
    """

    request: str
    grammar: str | None
    prompt_tokens: int
    mode: Mode
    budget: int
    seed: int
    candidates: int
    temperature: float
    top_p: float
    top_k: int
    alpha: float
    promotion: Promotion
    softmax: Softmax
    ranking: Ranking
    ending: Ending

    def __post_init__(self) -> None:
        """Raises ValueError for values that no request has."""
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{KEY}.{name}: {getattr(self, name)!r} is none of {', '.join(allowed)}")
        for name, least in _LEAST.items():
            if not least <= getattr(self, name) <= _MOST.get(name, sys.maxsize):
                raise ValueError(f"{KEY}.{name}: {getattr(self, name)!r} is out of range")

    @staticmethod
    def of(request: str, grammar: str | None, prompt_tokens: int, parameters: Parameters) -> RowRequest:
        """For parameters that have a seed."""
        if parameters.seed is None:
            raise ValueError("the seed is to be drawn where the answer begins")
        shared = {field.name for field in fields(RowRequest)} & {field.name for field in fields(Parameters)}
        return RowRequest(
            request=request,
            grammar=grammar,
            prompt_tokens=prompt_tokens,
            mode="beam" if parameters.beam_width > 1 else "draw",
            **{name: getattr(parameters, name) for name in shared},
        )

    @property
    def parameters(self) -> Parameters:
        """Those of the step: how many beams there are beyond one makes no difference to it."""
        shared = {field.name for field in fields(RowRequest)} & {field.name for field in fields(Parameters)}
        width = 2 if self.mode == "beam" else 1
        return Parameters(beam_width=width, **{name: getattr(self, name) for name in shared})

    def to_dict(self) -> dict[str, Any]:
        """Numbers, texts and None."""
        return asdict(self)

    @staticmethod
    def from_dict(data: object) -> RowRequest:
        """Raises ValueError for anything that `to_dict` doesn't yield."""
        if not isinstance(data, dict) or data.keys() != {field.name for field in fields(RowRequest)}:
            raise ValueError(f"{KEY}: not the fields of a request")
        for name, value in data.items():
            if type(value) not in _TYPES.get(name, (str,)):
                raise ValueError(f"{KEY}.{name}: {value!r} has the wrong type")
        return RowRequest(**data)


_TYPES: Mapping[str, tuple[type, ...]] = {
    "grammar": (str, type(None)),
    **dict.fromkeys(("prompt_tokens", "budget", "seed", "candidates", "top_k"), (int,)),
    **dict.fromkeys(("temperature", "top_p", "alpha"), (int, float)),
}
"""The other fields are texts."""


def request_of(sampling: Any) -> RowRequest | None:
    """That of vLLM's sampling parameters; None for a request that isn't ours. Raises ValueError."""
    data = (sampling.extra_args or {}).get(KEY)
    return None if data is None else RowRequest.from_dict(data)


def check(sampling: Any) -> None:
    """Raises ValueError for sampling parameters of vLLM that would choose other tokens than the filter does."""
    request = request_of(sampling)
    if request is None:
        return
    for name, value in NEUTRAL.items():
        if getattr(sampling, name, value) not in (value, None, [], {}):
            raise ValueError(f"{name} contradicts {KEY}: the filter chooses the tokens")
    if request.mode == "beam" and sampling.temperature != 0:
        raise ValueError(f"temperature contradicts {KEY}: beams have their logits scaled by the filter")
