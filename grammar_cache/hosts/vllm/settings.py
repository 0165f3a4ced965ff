"""Settings of the plug-in, by environment variables: vLLM hands plug-ins no options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NAME = "swyb_budget"
"""Name of the plug-in in `VLLM_PLUGINS`."""
UNSUPPORTED = "SWYB_BUDGET_UNSUPPORTED"
"""Variable for constraints that can't be enforced: `refuse` (the default) or `fallback`, to vLLM's own backend."""
ANSWER_SHARE = "SWYB_BUDGET_ANSWER_SHARE"
"""Variable for the share of `max_tokens` that thinking leaves to the answer at least: 0.25 unless told."""


@dataclass(frozen=True, slots=True)
class PluginSettings:
    """Settings of the plug-in in one process."""

    fallback: bool
    answer_share: float

    @staticmethod
    def of(environment: Mapping[str, str]) -> PluginSettings | None:
        """Settings of an environment; None where the plug-in isn't named. Raises ValueError for other values."""
        if NAME not in environment.get("VLLM_PLUGINS", "").split(","):
            return None
        unsupported = environment.get(UNSUPPORTED, "refuse")
        if unsupported not in ("refuse", "fallback"):
            raise ValueError(f"{UNSUPPORTED} is refuse or fallback, not {unsupported!r}")
        share = environment.get(ANSWER_SHARE, "0.25")
        try:
            answer_share = float(share)
        except ValueError as error:
            raise ValueError(f"{ANSWER_SHARE} is a number, not {share!r}") from error
        if not 0 <= answer_share <= 1:
            raise ValueError(f"{ANSWER_SHARE} lies between 0 and 1, and {share} doesn't")
        return PluginSettings(unsupported == "fallback", answer_share)
