"""Writing of arrays and objects: the rest of the dialect, as functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from grammar_cache.dialects.json_schema.containers.keys import Matches
from grammar_cache.dialects.json_schema.expressions.right_linear import Define
from grammar_cache.dialects.json_schema.expressions.whitespace import Layout
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction
from grammar_cache.expression import Expression, Ref

Order: TypeAlias = Callable[[Iterable[str]], list[str]]
"""Function that puts names of members in order."""


DefineUnique: TypeAlias = Callable[[str, Expression, Expression, int | None, tuple[int, Expression, str] | None], Ref]
"""Function that makes the rule of items that may not repeat: see `Rules.define_unique`."""


@dataclass(slots=True)  # not frozen, which takes longer to make: there is one for each container
class Writer:
    """`value`: the values of a conjunction, `canonical` gives a function like it that writes each in one way, for
    the items of an array. `key`: the strings of a conjunction as keys, naming no rules. `pattern`: the keys that
    match a regex, with the pointer to it for messages. `matches`: whether it matches a name. `is_key`: whether a
    name is a string of a conjunction. `listed`: the values of a conjunction where they are few, each with what
    identifies it; None where they are not. `types`: the types of the values of a conjunction. `are_spelled`:
    whether those that are listed have a spelling of their own. `order`: that of members, where values have one
    spelling each; None where they may have more. `define` makes a rule, `define_unique` that of items that may not
    repeat (see `expression.Unique`). `refuse`, told a pointer and a reason, raises UnsupportedFeature, or reports
    that the keyword is dropped; `leave_out` raises it, or reports that values are left out. `spend` is told of nodes
    that what is written is charged as. `states`: how many an automaton may have.
    """

    layout: Layout
    value: Callable[[Conjunction], Expression]
    canonical: Callable[[], Callable[[Conjunction], Expression]]
    key: Callable[[Conjunction], Expression]
    pattern: Callable[[str, str], Expression]
    matches: Matches
    is_key: Callable[[Conjunction, str], bool]
    listed: Callable[[Conjunction], dict[str, Expression] | None]
    types: Callable[[Conjunction], frozenset[str]]
    are_spelled: Callable[[Conjunction], bool]
    order: Order | None
    define: Define
    define_unique: DefineUnique
    refuse: Callable[[str, str], None]
    leave_out: Callable[[str, str], None]
    spend: Callable[[int], None]
    states: int
