"""Settings of the plug-in, by environment variables: vLLM hands plug-ins no options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

NAME = "swyb_budget"
"""Name of the plug-in in `VLLM_PLUGINS`."""
UNSUPPORTED = "SWYB_BUDGET_UNSUPPORTED"
"""Variable for constraints that can't be enforced: `refuse` (the default) or `fallback`, to vLLM's own backend."""
STORE = "SWYB_BUDGET_STORE"
"""Variable for the address of a store that processes share compiled grammars in: none unless told."""
STORE_SECRET = "SWYB_BUDGET_STORE_SECRET"
"""Variable for the secret of a store on a server; a file has one of its own beside it."""
ANSWER_SHARE = "SWYB_BUDGET_ANSWER_SHARE"
"""Variable for the share of `max_tokens` that thinking leaves to the answer at least: 0.25 unless told."""


@dataclass(frozen=True, slots=True)
class PluginSettings:
    """Settings of the plug-in in one process."""

    fallback: bool
    answer_share: float
    store: str | None = field(default=None, repr=False)
    store_secret: str | None = field(default=None, repr=False)

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
        store, secret = environment.get(STORE) or None, environment.get(STORE_SECRET) or None
        return PluginSettings(unsupported == "fallback", answer_share, store, secret)
