"""Searches as the filter in vLLM's workers sees them: plain values that travel in `SamplingParams.extra_args`.

The front end writes them, the workers read them; both check them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args

from server.decoding.parameters import Ending, Parameters, Promotion, Ranking, Softmax

KEY = "swyb"
"""Key of the request's values among the extra arguments."""

BEAM = "swyb_beam"
"""Prefix of the name that a beam's row has in its workers; the first row of a search has its request's name."""

_CHOICES: Mapping[str, tuple[object, ...]] = {
    "jump_forward": (False, True, "text"),
    "promotion": get_args(Promotion),
    "softmax": get_args(Softmax),
    "ranking": get_args(Ranking),
    "ending": get_args(Ending),
    "trace_bytes": (0,),
}
_LEAST: Mapping[str, float] = {
    "budget": 0,
    "beam_width": 1,
    "answers": 1,
    "seed": 0,
    "candidates": 1,
    "temperature": 0,
    "epsilon": 0,
    "top_p": 0,
    "top_k": 0,
    "alpha": 0,
}
_MOST: Mapping[str, float] = {"seed": (1 << 64) - 1, "top_p": 1, "alpha": 1, "epsilon": 1}

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
class SearchRequest:
    """Search of one request, and how its tokens are chosen.

    `request`: a name of its own. `grammar`: the key that the workers know a grammar by; None: any text. `parameters`
    have a seed. `begun`: the answer's tokens that are in the prompt already.
    """

    request: str
    grammar: str | None
    parameters: Parameters
    begun: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Numbers, texts, lists and None."""
        found = {name: getattr(self.parameters, name) for name in _PARAMETERS}
        found |= {"stops": [stop.hex() for stop in self.parameters.stops], "begun": list(self.begun)}
        return {"request": self.request, "grammar": self.grammar, **found}

    @staticmethod
    def from_dict(data: object) -> SearchRequest:
        """Raises ValueError for anything that `to_dict` doesn't yield."""
        if not isinstance(data, dict) or data.keys() != _NAMES:
            raise ValueError(f"{KEY}: not the fields of a request")
        for name, value in data.items():
            _check_value(name, value)
        stops = tuple(bytes.fromhex(stop) for stop in data["stops"])
        parameters = Parameters(**{name: data[name] for name in _PARAMETERS} | {"stops": stops})
        return SearchRequest(data["request"], data["grammar"], parameters, tuple(data["begun"]))


_BYTES = re.compile("([0-9a-f]{2})*")
LOCAL = frozenset({"min_p", "penalties", "stop_ids", "min_tokens", "ignore_end", "logprobs"})
"""Parameters that the front end refuses for searches: see `Parameters.local`."""
_PARAMETERS = frozenset(field.name for field in fields(Parameters)) - LOCAL
_NAMES = _PARAMETERS | {"request", "grammar", "begun"}
_TYPES: Mapping[str, tuple[type, ...]] = {
    "grammar": (str, type(None)),
    **dict.fromkeys(("budget", "beam_width", "answers", "seed", "candidates", "top_k", "trace_bytes"), (int,)),
    **dict.fromkeys(("temperature", "top_p", "alpha", "epsilon"), (int, float)),
    "jump_forward": (bool, str),
    **dict.fromkeys(("special_names", "keep_greedy"), (bool,)),
    **dict.fromkeys(("stops", "begun"), (list, tuple)),
}
"""The other fields are texts."""


def _check_value(name: str, value: Any) -> None:
    """Raises ValueError for one that no request has."""
    if type(value) not in _TYPES.get(name, (str,)):
        raise ValueError(f"{KEY}.{name}: {value!r} has the wrong type")
    if name in _CHOICES and value not in _CHOICES[name]:
        raise ValueError(f"{KEY}.{name}: {value!r} is none of {', '.join(map(str, _CHOICES[name]))}")
    if name in _LEAST and not _LEAST[name] <= value <= _MOST.get(name, sys.maxsize):
        raise ValueError(f"{KEY}.{name}: {value!r} is out of range")
    if name == "stops" and not all(type(stop) is str and _BYTES.fullmatch(stop) for stop in value):
        raise ValueError(f"{KEY}.{name}: {value!r} are no bytes")
    if name == "begun" and not all(type(token) is int for token in value):
        raise ValueError(f"{KEY}.{name}: {value!r} are no tokens")


def request_of(sampling: Any) -> SearchRequest | None:
    """Search in vLLM's sampling parameters; None for a request that isn't ours. Raises ValueError."""
    data = (sampling.extra_args or {}).get(KEY)
    return None if data is None else SearchRequest.from_dict(data)


def row_of(sampling: Any) -> str | None:
    """The name of a beam's row by vLLM's sampling parameters; None for a request that is none."""
    name = (sampling.extra_args or {}).get(BEAM)
    return name if isinstance(name, str) else None


def check(sampling: Any) -> None:
    """Raises ValueError for sampling parameters of vLLM that would choose other tokens than the filter does."""
    if request_of(sampling) is None:
        return
    for name, value in NEUTRAL.items():
        if getattr(sampling, name, value) not in (value, None, [], {}):
            raise ValueError(f"{name} contradicts {KEY}: the filter chooses the tokens")
