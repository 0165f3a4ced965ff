"""Calls of the front end to vLLM's engine core: grammars come and go there as in the workers (`GrammarWorker`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from vllm.v1.engine.core import EngineCore

from server.backends.vllm.wire.claims import Sent


def install() -> None:
    """Gives vLLM's engine core these methods; it looks them up by name."""
    for method in (load_grammar, drop_grammar, exchange_claims):
        setattr(EngineCore, method.__name__, method)


def load_grammar(core: Any, key: str, data: bytes, limits: Mapping[str, int], claims: Sent) -> Future[None]:
    """See `HeldGrammars.load`. The call is answered when it has been done; steps go on meanwhile."""
    future: Future[None] = core.scheduler.masked.load(key, data, limits, claims)
    return future


def drop_grammar(core: Any, key: str) -> Sent:
    """See `HeldGrammars.drop`."""
    found: Sent = core.scheduler.masked.grammars.drop(key)
    return found


def exchange_claims(core: Any, keys: Sequence[str], news: Mapping[str, Sent]) -> dict[str, Sent]:
    """See `HeldGrammars.exchange`."""
    found: dict[str, Sent] = core.scheduler.masked.grammars.exchange(keys, news)
    return found
