"""Calls of the front end to vLLM's engine core: grammars come and go there as in the workers (`GrammarWorker`),
and its memory is known there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from vllm.v1.engine.core import EngineCore

from server.backends.vllm.wire.claims import Sent


def install() -> None:
    """Gives vLLM's engine core these methods; it looks them up by name."""
    for method in (load_grammar, drop_grammar, exchange_claims, kinds_of_memory):
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


def kinds_of_memory(core: Any) -> list[tuple[int, int | None]]:
    """Kinds of memory that each text takes: see `Kinds`. Windows that slide, say, are one beside full attention."""
    managers = core.scheduler.kv_cache_manager.coordinator.single_type_managers
    return [(manager.block_size, manager.max_admission_blocks_per_request) for manager in managers]
