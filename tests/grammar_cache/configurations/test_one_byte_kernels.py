"""Bytes that are read alone lead where the rows of configurations lead, and no row is made that hasn't to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.core.hostile_grammars import hostile
from grammar_cache import EmptyLanguage, Limits, Vocabulary, compile_grammar
from grammar_cache.configurations.arena import UNKNOWN
from grammar_cache.configurations.interner import DEAD, UNLIMITED, Configurations
from grammar_cache.configurations.one_byte_kernels import after_byte_alone
from grammar_cache.network.network import Network, build
from tests.strategies import Case, cases, examples

COSTS = (UNLIMITED, 1, 12, 60, 400)
LETTERS = Vocabulary([*(bytes([byte]) for byte in range(256)), None], [256])
NUMBERS = (0, 1, 2, 3, 5, 6, 20, 29, 43, 57)
"""Hostile grammars of all families but chains, which take long to compile."""


def after_alone(table: Configurations, configuration: int, byte: int) -> int:
    while (found := after_byte_alone(table.rules, table.arena, configuration, byte)) < UNKNOWN:
        table.outcome(found)
    return int(found)


def check(network: Network, widest: int, most: int) -> int:
    """Reads a byte of each class from configurations, the nearest first: returns how many have no row behind that."""
    table = Configurations(network, 100_000, widest=widest)
    letters = np.unique(network.classes, return_index=True)[1].tolist()
    met, without = [table.start], 0
    for configuration in met:
        alone = [after_alone(table, configuration, byte) for byte in letters]
        without += bool(table.arena.row[configuration] < 0)
        assert alone == [table.step(configuration, byte) for byte in letters]
        assert alone == [after_alone(table, configuration, byte) for byte in letters]  # where the row is known
        met += [after for after in dict.fromkeys(alone) if after != DEAD and after not in met][: most - len(met)]
    return without


@given(cases(), st.sampled_from(COSTS))
@examples(40)
def test_a_byte_alone_leads_where_the_row_does(case: Case, widest: int) -> None:
    """Random grammars: the same configuration, or none, behind a byte of each class, whatever a byte may cost."""
    with case.as_drawn():
        try:
            network = build(case.grammar, Limits())
        except EmptyLanguage:
            return
    check(network, widest, 12)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_byte_alone_leads_where_the_row_does_in_hostile_grammars(number: int) -> None:
    """Hostile grammars: likewise, though rows are dear; where bytes may cost anything most are read without a row."""
    [one] = hostile(range(number, number + 1))
    network = compile_grammar(one.constraint, LETTERS, Limits(start_fuel=1_000)).network
    for widest in COSTS:
        without = check(network, widest, 30)
        assert without or widest != UNLIMITED
