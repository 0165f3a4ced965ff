"""Members in their order with commas in between, each of which is there or may be left out."""

from __future__ import annotations

from collections.abc import Sequence

from grammar_cache.dialects.combine import is_nothing
from grammar_cache.dialects.json_schema.containers.member_counts import NONE, Member
from grammar_cache.dialects.json_schema.expressions.combine import alt, optional, repeat, seq
from grammar_cache.dialects.json_schema.expressions.whitespace import Layout
from grammar_cache.expression import NOTHING, Expression


def separated(declared: Sequence[Member], others: Sequence[Member], layout: Layout) -> Expression:
    """Expression for at least one member: the declared ones in their order, then any of the others."""
    other = alt(member.forms[NONE] for member in others)
    further = repeat(seq(layout.comma, other), 0, None)
    pivot = next((place for place, member in enumerate(declared) if member.needed), None)
    if pivot is not None:
        return _around(declared, pivot, further, layout)
    members = [member.forms[NONE] for member in declared]
    after = [optional(seq(layout.comma, member)) for member in members]
    forms = (seq(_some(members, after), further), seq(other, further))
    return alt(form for form in forms if not is_nothing(form))


def _around(declared: Sequence[Member], pivot: int, others: Expression, layout: Layout) -> Expression:
    """Commas hang on the first member that is always there: they follow those before it, lead those after."""
    before = [optional(seq(member.forms[NONE], layout.comma)) for member in declared[:pivot]]
    after: list[Expression] = []
    for member in declared[pivot + 1 :]:
        following = layout.comma, member.forms[NONE]
        after += following if member.needed else (optional(seq(*following)),)
    return seq(*before, declared[pivot].forms[NONE], *after, others)


def _some(members: list[Expression], after: list[Expression]) -> Expression:
    """Expression for at least one member, none of which is required; `after` are the members, each with its comma, or
    left out.

    Halving makes the expression small: some of the first half and any of the second, or none of the first. That makes n
    log n nodes, where a chain would need either n² or a rule for each.
    """
    if len(members) <= 1:
        return members[0] if members else NOTHING
    middle = len(members) // 2
    either = seq(_some(members[:middle], after[:middle]), *after[middle:])
    return alt((either, _some(members[middle:], after[middle:])))
