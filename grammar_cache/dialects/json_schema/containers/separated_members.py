"""Members in their order with commas in between, each of which is there or may be left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammar_cache.dialects.combine import is_nothing
from grammar_cache.dialects.json_schema.containers.member_counts import NONE, Member
from grammar_cache.dialects.json_schema.expressions.combine import alt
from grammar_cache.dialects.json_schema.expressions.whitespace import Layout
from grammar_cache.expression import EMPTY, NOTHING, Automaton, Expression


def separated(declared: Sequence[Member], others: Sequence[Member], layout: Layout) -> Expression:
    """Expression for at least one member: the declared ones in their order, then any of the others.

    An automaton has two states for each member, before and behind it. A comma leads from behind one to before the
    next, which may be left out: so the members that may follow are a set of states before them only, not behind each
    value. An expression would need one for each pair of members, or hold all of them where each value may end.
    """
    count, other = len(declared), alt(member.forms[NONE] for member in others)
    if not declared and is_nothing(other):
        return NOTHING
    items = [EMPTY, layout.comma, other, *(member.forms[NONE] for member in declared)]
    left_out, comma, further, first = range(4)
    behind = [count + max(place, 1) for place in range(count + 1)]
    steps = [(place, left_out, place + 1) for place in range(count) if not declared[place].needed]
    steps += [(place, first + place, behind[place + 1]) for place in range(count)]
    steps += [(behind[place], comma, place) for place in range(1, count)]
    if not is_nothing(other):
        steps += [(count, further, behind[count]), (behind[count], comma, count)]
    last = max((place for place in range(count) if declared[place].needed), default=-1)
    ends = behind[max(last + 1, min(count, 1)) :]
    return Automaton(
        behind[count] + 1, np.zeros((0, 4), np.int32), np.array(ends, np.int32), tuple(items), np.array(steps, np.int32)
    )
