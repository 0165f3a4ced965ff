"""Requests of single texts whose masks are made in the engine core: plain values in `SamplingParams.extra_args`.

The budget is vLLM's `max_tokens`, the end tokens its `stop_token_ids`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KEY = "swyb_mask"
"""Key of the request's values among the extra arguments."""

TIGHT = "swyb_tight"
"""Key of what is told of an answer with its output: places of its tokens before which the mask was tight."""


@dataclass(frozen=True, slots=True)
class MaskRequest:
    """Text under a grammar, by the key that the engine core knows it by.

    `shortest`: it ends where it first is complete. `ends_from`: tokens before which no end is taken where another token
    may come.
    """

    grammar: str
    shortest: bool = False
    ends_from: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Text, truth value, number."""
        return {"grammar": self.grammar, "shortest": self.shortest, "ends_from": self.ends_from}

    @staticmethod
    def from_dict(data: object) -> MaskRequest:
        """Raises ValueError for anything that `to_dict` doesn't yield."""
        types = {"grammar": str, "shortest": bool, "ends_from": int}
        if not isinstance(data, dict) or {name: type(value) for name, value in data.items()} != types:
            raise ValueError(f"{KEY}: {data!r} is no request for masks")
        return MaskRequest(**data)


def mask_request_of(sampling: Any) -> MaskRequest | None:
    """The request in vLLM's sampling parameters; None where there is none. Raises ValueError."""
    data = (sampling.extra_args or {}).get(KEY)
    return None if data is None else MaskRequest.from_dict(data)
