"""Configurations by their content: a key that is the same in every process, whatever was met before.

The key of a single item is that of the pair (state, stack). It tells what may follow, and nothing of the text that led
there.
"""

from __future__ import annotations

from hashlib import blake2b

from grammar_cache.configurations.interner import Configurations
from grammar_cache.configurations.stack_digests import StackDigests

KEY_BYTES = 16


class ConfigurationKeys:
    """Content keys of the configurations of one table."""

    def __init__(self, configurations: Configurations) -> None:
        self._configurations = configurations
        self._digests = StackDigests(configurations)

    def of(self, configuration: int) -> bytes:
        """16 bytes; equal for equal content. Costs as much as the stacks are high, once for each of their nodes."""
        table, stacks = self._configurations, self._digests
        items = sorted((table.described(state), stacks.of(node)) for state, node in table.items(configuration))
        digest = blake2b(digest_size=KEY_BYTES, person=b"configuration")
        digest.update(b"\1" if table.accepts(configuration) else b"\0")
        for state, stack in items:
            digest.update(len(state).to_bytes(4, "big") + state + stack)
        return digest.digest()
