"""Grammars in vLLM's workers: each is sent once, to every engine and rank, before the first request that uses it.

Loaded grammars are bounded by count; the least recently used go first. No `LruCache` serves: one that a request uses
stays, and dropping is a call to the workers. What others have
found goes with a grammar, and what was found there comes back, at the latest when it is dropped.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from itertools import count

from grammar_cache.artefact.artefact import to_bytes
from grammar_cache.grammar import CompiledGrammar
from server.backends.vllm.frontend.learning import Call, Learning
from server.backends.vllm.wire.claims import received, sent
from server.grammars.exchange import Exchange


@dataclass(slots=True, eq=False)
class _Loaded:
    """`grammar` is held so that no other one gets its identity."""

    grammar: CompiledGrammar
    exchange: Exchange | None
    key: str
    loading: asyncio.Task[None]
    users: int = 0


class LoadedGrammars:
    """Grammars loaded into one engine, from its start to its end. One event loop uses it."""

    def __init__(self, call: Call, most: int) -> None:
        self._call = call
        self._learning = Learning(call)
        self._most = most
        self._loaded: OrderedDict[int, _Loaded] = OrderedDict()
        self._numbers = count(1)

    @asynccontextmanager
    async def loaded(self, grammar: CompiledGrammar, exchange: Exchange | None) -> AsyncIterator[str]:
        """The key that requests name it by, while the block runs. Raises what the call raises.

        `exchange`: the grammar's own.
        """
        entry = self._loaded.get(id(grammar)) or self._begin(grammar, exchange)
        self._loaded.move_to_end(id(grammar))
        entry.users += 1
        try:
            # The first to ask may go away while others wait.
            await asyncio.shield(entry.loading)
            yield entry.key
        finally:
            entry.users -= 1
            if entry.exchange is not None:
                self._learning.used(entry.key, entry.exchange)

    def close(self) -> None:
        """No call is made any more."""
        self._learning.close()

    def _begin(self, grammar: CompiledGrammar, exchange: Exchange | None) -> _Loaded:
        key = f"g{next(self._numbers)}"
        entry = _Loaded(grammar, exchange, key, asyncio.create_task(self._load(grammar, key)))
        self._loaded[id(grammar)] = entry
        return entry

    async def _load(self, grammar: CompiledGrammar, key: str) -> None:
        try:
            await self._evict()
            # No request walks the grammar yet: reading it on another thread meets nobody.
            data = await asyncio.to_thread(to_bytes, grammar)
            await self._call("load_grammar", key, data, asdict(grammar.limits), sent(grammar.offered))
        except BaseException:
            del self._loaded[id(grammar)]  # who asks next tries anew
            raise

    async def _evict(self) -> None:
        idle = [entry for entry in self._loaded.values() if not entry.users and entry.loading.done()]
        dropped = idle[: max(0, len(self._loaded) - self._most)]
        for entry in dropped:  # all before anybody else's turn, who may ask for one of them
            del self._loaded[id(entry.grammar)]
            self._learning.forget(entry.key)
        await asyncio.gather(*map(self._drop, dropped))

    async def _drop(self, entry: _Loaded) -> None:
        found = await self._call("drop_grammar", entry.key)
        if entry.exchange is not None:
            entry.exchange.give(*map(received, found))
