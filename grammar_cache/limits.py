"""Bounds on what one constraint may cost. Counts, never seconds, so that the same request always meets the same
answer.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

CACHE_SIZES = frozenset({"table_bytes"})
"""Names of limits that bound caches. What they drop is computed again, with the same outcome: results don't depend on
these.

They depend on all others. Some bound what a search may cost, and so what it finds. The others refuse: whoever has found
a grammar that was made within wider ones would answer what they refuse, and only while a store has it.
"""
NODES = 100_000
"""Configurations of a table made offline, if nobody says otherwise: a minute or two, and half a gigabyte."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Each field: what is counted, its unit, and where the default comes from. Hitting one raises `LimitExceeded`."""

    text_bytes: int = 1 << 20
    """Bytes of grammar text. A megabyte is 15 times the largest schema of JSONSchemaBench's published sample."""

    nesting: int = 256
    """Levels of nesting in a grammar text, regex or schema. vLLM allows 64 for JSON; real schemas stay below 40."""

    rules: int = 50_000
    """Rules a dialect may produce."""

    expression_size: int = 2_000_000
    """Nodes of all expressions after repetition by doubling (llguidance: grammar size 500,000)."""

    rule_states: int = 100_000
    """States of one rule's automaton while it is made deterministic (llguidance: 250,000 lexer states)."""

    states: int = 500_000
    """States of all rules together."""

    configurations: int = 2_000_000
    """Configurations a compiled grammar may explore: about 0.5 kB each. There answers under way end by their witness,
    for which there is room beyond: one configuration a byte."""

    byte_cost: int = 900
    """Items and edges that reading one byte may cost (less than a tenth of a millisecond), and so may those bytes of a
    token together that cost more than a sixth of it each; JSON takes some seven a byte, at most 41 in 400 schemas,
    and SQL up to 47. What costs more, as in very ambiguous grammars, is read for the witness only. So is bounded what
    all tokens cost from one place.
    """

    memory_bytes: int = 64 << 20
    """Bytes of configurations, stacks and what is remembered of them. With more a grammar is `full`: answers under way
    and new ones go on in a copy that is begun anew, and texts stay what they are."""

    start_fuel: int = 40_000_000
    """Cost that the exact search from the start may have, counted as in `step_fuel` (some 200 ms at most). Run dry, the
    additive bound stays.
    """

    walk_fuel: int = 4_000_000
    """Cost of looking at all tokens from one place, counted as in `step_fuel` (4 to 40 ms). Real schemas take up to a
    million, lists of 12,000 values two and a quarter, and ambiguous grammars for SQL and Python half a million. Where
    it takes more, masks have the tokens of one byte, and the next one of the witness.
    """

    step_fuel: int = 1_500_000
    """Cost of one search for what may follow at the horizon, of all tokens together: two for a trie
    node that is visited, one for one that stays in a loop and is looked up, eight for each item and edge that it takes
    to go on from a configuration, as if nothing were known. A level that this doesn't last for isn't looked at, nor
    one more than 96 tokens ahead; what the additive distance lets in fits anyway. A search has
    `walk_fuel` at most, too.
    """

    table_bytes: int = 64 << 20
    """Bytes of successors, of what fits near the horizon, and of masks, kept per grammar; the least recently used go
    first.
    """

    def deciding(self) -> dict[str, int]:
        """Limits that results depend on, by name: what equal grammars have in common, wherever they are kept."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in CACHE_SIZES}


DEFAULT_LIMITS = Limits()
