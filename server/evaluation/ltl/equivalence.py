"""Whether two formulas mean the same: whether the same infinite words satisfy them. Exact.

They differ if (a & ~b) | (~a & b) has a model, that is, if its automaton accepts a word.
"""

from __future__ import annotations

from server.evaluation.ltl.automaton import TooLarge, automaton
from server.evaluation.ltl.emptiness import accepted_word
from server.evaluation.ltl.formula import Binary, Formula, Unary, subformulas
from server.evaluation.ltl.lasso import Lasso
from server.evaluation.ltl.normal_form import Nodes

LIMIT = 100_000
"""Choices that a comparison may try: a few hundred milliseconds."""

DEEPEST = 150
"""Depth up to which formulas are compared: beyond, Python's own recursion would end."""


def difference(one: Formula, other: Formula, limit: int = LIMIT) -> Lasso | None:
    """A word that satisfies one of the formulas and not the other; None where they are equivalent.

    Raises TooLarge where a formula is deeper than `DEEPEST` or the comparison takes more than `limit` choices: LTL
    equivalence is complete for PSPACE.
    """
    for formula in (one, other):
        if any(depth > DEEPEST for _, depth in subformulas(formula)):
            raise TooLarge(f"a formula is nested more than {DEEPEST} deep")
    nodes = Nodes()
    differs = nodes.add(Unary("not", Binary("equivalent", one, other)))
    return accepted_word(automaton(nodes, differs, limit))


def equivalent(one: Formula, other: Formula, limit: int = LIMIT) -> bool:
    """Whether the same words satisfy both. Raises TooLarge like `difference`."""
    return difference(one, other, limit) is None
