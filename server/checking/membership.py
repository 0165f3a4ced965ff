"""Whether a text belongs to a grammar's language, byte by byte. Knows no vocabulary and no dialect."""

from __future__ import annotations

from dataclasses import dataclass

from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.expression import Grammar
from grammar_cache.limits import DEFAULT_LIMITS, Limits
from grammar_cache.network.network import build
from grammar_cache.unique_items.places import ItemPlaces
from server.checking.member_order import Table

SHOWN = 12
"""Possible next bytes that a verdict lists."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`offset`: the first byte that no text of the language has here; the text's length if it is a beginning.

    `expected` shows some of what could come there instead.
    """

    accepted: bool
    offset: int
    expected: tuple[str, ...] = ()


class Recogniser:
    """A grammar without tokens. Raises GrammarError when it is made, LimitExceeded also while it judges."""

    def __init__(self, grammar: Grammar, limits: Limits = DEFAULT_LIMITS) -> None:
        network = build(grammar, limits)
        configurations = Configurations(network, limits.configurations)
        self._table: Table = ItemPlaces(configurations) if network.unique else configurations

    @property
    def table(self) -> Table:
        """The configurations of texts, byte by byte."""
        return self._table

    def judge(self, text: bytes) -> Verdict:
        """Follows the text as far as it goes."""
        table = self._table
        configuration = table.start
        for offset, byte in enumerate(text):
            after = table.step(configuration, byte)
            if after == DEAD:
                return Verdict(False, offset, self._expected(configuration))
            configuration = after
        accepted = table.accepts(configuration)
        return Verdict(accepted, len(text), () if accepted else self._expected(configuration))

    def _expected(self, configuration: int) -> tuple[str, ...]:
        table = self._table
        alive = [byte for byte in range(256) if table.step(configuration, byte) != DEAD]
        shown = tuple(_shown(byte) for byte in alive[:SHOWN])
        return shown if len(alive) <= SHOWN else (*shown, "...")


def _shown(byte: int) -> str:
    return repr(chr(byte)) if byte < 0x80 else f"byte {byte:#04x}"
