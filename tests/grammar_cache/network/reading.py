"""Networks as acceptors of texts, byte by byte."""

from __future__ import annotations

from grammar_cache.configurations.interner import Configurations
from grammar_cache.network.network import Network


def reads(net: Network, text: bytes) -> bool:
    """Whether the network's language has the text."""
    table = Configurations(net, 1_000_000)
    at = table.start
    for byte in text:
        at = table.step(at, byte)
        if at < 0:
            return False
    return table.accepts(at)
