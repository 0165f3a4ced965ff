"""A host of the simplest kind: one answer at a time, greedily, by a cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.conformance.hostile_scores import Model
from grammar_cache.hosts.cursor import Cursor


def generated(
    grammar: CompiledGrammar,
    budget: int,
    model: Model,
    begin: Callable[[CompiledGrammar, int], Cursor] = Cursor,
) -> Sequence[int]:
    """Tokens that the model likes best of those that are allowed, one by one."""
    cursor = begin(grammar, budget)
    while cursor.tokens_left > 0 and not cursor.is_ended:
        allowed = np.unpackbits(cursor.bitmask(), count=grammar.vocabulary.size, bitorder="little").astype(bool)
        if not allowed.any():
            break
        scores = np.nan_to_num(model(cursor.tokens), nan=-1e9, posinf=1e9, neginf=-1e9)
        assert cursor.accept(int(np.where(allowed, scores, -np.inf).argmax()))
    return cursor.tokens
