"""Packed successors come out as they went in."""

from __future__ import annotations

import numpy as np

from grammar_cache import Constraint, Vocabulary, compile_grammar
from grammar_cache.successors.packed import PackedSuccessors
from grammar_cache.successors.successors import Successors

VOCABULARY = Vocabulary([b"a", b"b", b"c", b"ab", b"ba", b"cab", None], [6])


def drawn(rng: np.random.Generator, *, whole: bool) -> Successors:
    configurations, strings = rng.integers(0, 1 << 30, (2, rng.integers(0, 5)), np.int32)
    return Successors(configurations, strings, 1 << int(rng.integers(0, 60)), whole)


def test_each_comes_out_as_it_went_in() -> None:
    """Any number of them, in any order, some without successors; nothing of a configuration that isn't there."""
    rng = np.random.default_rng(1)
    for count in (0, 1, 7, 40):
        sources = rng.permutation(3 * count)[:count].tolist()
        known = {source: drawn(rng, whole=bool(n % 2)) for n, source in enumerate(sources)}
        packed = PackedSuccessors(known.items())
        for source in range(-1, 3 * count + 2):
            found, expected = packed.get(source), known.get(source)
            assert (found is None) == (expected is None)
            if found is not None and expected is not None:
                assert found.configurations.tolist() == expected.configurations.tolist()
                assert found.strings.tolist() == expected.strings.tolist()
                assert (found.cost, found.whole) == (expected.cost, expected.whole)


def test_tables_know_what_they_have_packed() -> None:
    """Successors are the same before and behind, and take less room."""
    grammar = compile_grammar(Constraint("regex", "(ab|ba|c){1,40}"), VOCABULARY)
    tables, at, found = grammar._tables, [grammar.start], []
    for configuration in at:
        found.append(tables.successors(configuration))
        at += [after for after in found[-1].configurations.tolist() if after not in at]
    held, unpacked = tables.held_bytes, tables._successors.size
    tables.pack()
    assert tables.packed.size_bytes < unpacked / 3
    assert tables.held_bytes <= held - unpacked + tables.packed.size_bytes
    for configuration, expected in zip(at, found, strict=True):
        known = tables.successors(configuration)
        assert known is not expected
        assert known.configurations.tolist() == expected.configurations.tolist()
        assert (known.strings.tolist(), known.cost) == (expected.strings.tolist(), expected.cost)
