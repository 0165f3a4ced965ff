"""A grammar as frozen data: what every dialect is translated to, and all that the automaton knows of it.

The language is one of byte strings. A dialect speaks of code points through `CharClass`, which stands for the
UTF-8 encodings of its members. `And` and `Not` are defined on *regular* operands only: expressions in which no
`Ref` leads back to itself (the network inlines the rules they name).

This module knows no dialect, no vocabulary and no automaton.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from grammar_cache.loops.array_types import Ints

MAX_CODE_POINT = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)

Range: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Bytes:
    """Exactly these bytes; `Bytes(b"")` is the empty string."""

    data: bytes


@dataclass(frozen=True, slots=True, weakref_slot=True)
class CharClass:
    """One code point out of sorted, disjoint, inclusive ranges; surrogates never belong. Build it with `char_class`."""

    ranges: tuple[Range, ...]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Seq:
    """The items one after the other; `Seq(())` is the empty string."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Alt:
    """Any one of the items; `Alt(())` is the empty language."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Repeat:
    """`item` from `least` to `most` times (`None`: any number). Large counts are not unrolled by the network."""

    item: Expression
    least: int
    most: int | None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Ref:
    """The rule of that name."""

    name: str


@dataclass(frozen=True, slots=True, weakref_slot=True)
class And:
    """The intersection of regular expressions."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Not:
    """All byte strings outside a regular expression. Keep it inside an `And`, which says what a text may look like."""

    item: Expression


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Automaton:
    """A language that the dialect brings as an automaton, of which state 0 is the start.

    Rows of `edges`, int32[…, 4], are (state, low byte, high byte, state after it); those of `steps`, int32[…, 3], are
    (state, place of one of the `items`, state after any text of it). `ends` are the final states.
    """

    states: int
    edges: Ints
    ends: Ints
    items: tuple[Expression, ...] = ()
    steps: Ints = field(default_factory=lambda: np.zeros((0, 3), np.int32))


Composite: TypeAlias = Seq | Alt | Repeat | And | Not | Automaton
Expression: TypeAlias = Bytes | CharClass | Ref | Composite

EMPTY = Bytes(b"")
NOTHING = Alt(())


@dataclass(frozen=True, slots=True)
class Required:
    """Items that an array of unique items has at least, two or more.

    `item`: the rule of one of them alone, with the white space around it, which is the rule `gap`. `spares`: rules of
    as many different ones, each a comma and one text; `end`: that of the bracket behind them. No rule calls these.
    Dialects leave spares and end to `network.spares`, as they do what the array's rule reads. `pointer`: for messages.
    """

    least: int
    item: str
    gap: str | None = None
    spares: tuple[str, ...] = ()
    end: str = ""
    pointer: str | None = None

    @property
    def rules(self) -> tuple[str, ...]:
        """All of these rules."""
        return (self.item, *self.spares, self.end)


@dataclass(frozen=True, slots=True)
class Unique:
    """Items of an array that may not repeat: see `unique_items`. The rule reads the first item and the bracket behind
    the array; `further`, a rule that no other calls, what may stand behind a comma: another item, and the bracket.
    `most`: items; None: any number. `required`: where it needs two or more; then the rule reads the whole array.
    """

    further: str
    most: int | None
    required: Required | None = None

    @property
    def beside(self) -> tuple[str, ...]:
        """Rules that are needed without being called."""
        return (self.further, *(self.required.rules if self.required else ()))


@dataclass(frozen=True, slots=True)
class Grammar:
    """Named rules and the one that derives whole texts.

    `ignored` lists what the dialect accepted without enforcing it (annotations, or keywords dropped under
    `lenient`), as human-readable lines such as "/properties/a/x-order: annotation". `unique`: by the name of
    the rule of an array's only item, what may follow it in the place of the bracket behind it.
    """

    rules: Mapping[str, Expression]
    start: str
    ignored: tuple[str, ...] = field(default=())
    unique: Mapping[str, Unique] = field(default_factory=dict)


def text(value: str) -> Bytes:
    """The UTF-8 bytes of a string. Raises UnicodeEncodeError for lone surrogates."""
    return Bytes(value.encode())


def char_class(ranges: Iterable[Range], *, negated: bool = False) -> CharClass:
    """Sorted, merged and freed of surrogates; `negated` takes the other code points."""
    merged: list[list[int]] = []
    for low, high in sorted(r for r in ranges if r[0] <= r[1]):
        if merged and low <= merged[-1][1] + 1:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high])
    if negated:
        gaps, after = [], 0
        for low, high in merged:
            gaps.append([after, low - 1])
            after = high + 1
        merged = [*gaps, [after, MAX_CODE_POINT]]
    kept: list[Range] = []
    for low, high in merged:
        halves = ((low, min(high, SURROGATES[0] - 1)), (max(low, SURROGATES[1] + 1), high))
        kept += [part for part in halves if part[0] <= part[1]]
    return CharClass(tuple(kept))


ANY_CHAR = char_class([(0, MAX_CODE_POINT)])


def parts_of(expression: Composite) -> tuple[Expression, ...]:
    """Expressions that one is made of, in their order."""
    return (expression.item,) if isinstance(expression, (Repeat, Not)) else expression.items


def references(expression: Expression, *, in_boolean: bool = True) -> list[str]:
    """The rules that an expression names, each once, in order; those under And and Not are inlined, not called."""
    found: dict[str, None] = {}
    todo = [expression]
    seen: set[int] = set()
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        match node:
            case Ref(name):
                found[name] = None
            case And() | Not() if not in_boolean:
                pass
            case Seq(items) | Alt(items) | And(items) | Automaton(items=items):
                todo += reversed(items)
            case Repeat(item, _, _) | Not(item):
                todo.append(item)
    return list(found)
