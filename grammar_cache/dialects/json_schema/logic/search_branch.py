"""One way through the choices of a conjunction, under way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from grammar_cache.dialects.json_schema.logic import member_values
from grammar_cache.dialects.json_schema.logic.facts import Facts
from grammar_cache.dialects.json_schema.logic.member_values import MemberValues
from grammar_cache.dialects.json_schema.numbers import interval as intervals
from grammar_cache.dialects.json_schema.numbers.interval import Interval
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction, is_schema
from grammar_cache.dialects.json_schema.schema.values import ANY_TYPE
from grammar_cache.dialects.json_schema.strings import string_facts
from grammar_cache.dialects.json_schema.strings.string_facts import StringFacts

Place: TypeAlias = tuple[tuple[int, int], ...]
"""Place of a keyword among others, and in its list, for each schema on the way."""


@dataclass(slots=True, eq=False)  # not frozen: hundreds of thousands are made
class Todo:
    """An atom to follow; `own`: its own assertions. `parent` tells loops. `choices`: how many have led to it. `named`:
    the atom that the parent names, if that does nothing but refer to this one."""

    atom: str
    parent: Todo | None
    own: bool = False
    choices: int = 0
    named: str = ""
    place: Place | None = None
    """Place in the text of the schema, once that was asked for."""

    def leads_back(self) -> bool:
        return self.comes_from(self.atom)

    def comes_from(self, atom: str) -> bool:
        above = self.parent
        while above is not None:
            if above.atom == atom:
                return True
            above = above.parent
        return False


@dataclass(slots=True, eq=False)
class ConjunctionGroup:
    """Conjunctions of which one or more must hold, as `owner` says. `watched`: it matters which of them do."""

    owner: Todo
    ways: tuple[Conjunction, ...]
    watched: bool = False

    @property
    def denies(self) -> bool:
        """Whether the choice is between ways to break a schema."""
        return not is_schema(self.owner.atom)


@dataclass(slots=True)
class Branch:
    """`roots`: the conjunction. `todo`: atoms still to follow, the next one last. `own`: those whose own assertions
    hold, in the order of their appearance. `seen`: all that hold. `types`: what they leave of the types. `groups`:
    choices to be made. `unequal`: values that it must not be, put off until all else is chosen. `text` and `interval`:
    what `own` says of strings and numbers. `members`: what it lists for members, but for its atoms that are `unread`.
    `steps`: from which atom to which it went."""

    roots: Conjunction
    todo: list[Todo]
    own: dict[str, Todo] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    types: frozenset[str] = ANY_TYPE
    groups: list[ConjunctionGroup] = field(default_factory=list)
    unequal: list[Todo] = field(default_factory=list)
    text: StringFacts = string_facts.FREE
    interval: Interval = intervals.FREE
    members: MemberValues = member_values.FREE
    unread: Conjunction = ()
    steps: list[tuple[str, str]] = field(default_factory=list)

    @staticmethod
    def start(conjunction: Conjunction, asserted: Mapping[str, Facts]) -> Branch:
        """Branch where these atoms are to be followed, and of others the own assertions hold."""
        started = Branch(conjunction, [Todo(atom, None) for atom in reversed(conjunction)])
        for atom, facts in asserted.items():
            started.types &= facts.types
            started.note(Todo(atom, None), facts)
        return started

    def note(self, item: Todo, facts: Facts) -> None:
        """Note what an atom says by itself."""
        self.own.setdefault(item.atom, item)
        if not facts.text.free:
            self.text = self.text.both(facts.text)
        if not facts.interval.free:
            self.interval = self.interval.both(facts.interval)
        if facts.objects:
            self.unread += (item.atom,)

    def add(self, way: Conjunction, owner: Todo) -> None:
        self.todo.extend(Todo(atom, owner, choices=owner.choices + 1) for atom in reversed(way))

    def taking(self, way: Conjunction, owner: Todo) -> Branch:
        """The branch that goes on with one of the choices of a group; the group has been taken out."""
        taken = Branch(
            self.roots,
            self.todo.copy(),
            self.own.copy(),
            self.seen.copy(),
            self.types,
            self.groups.copy(),
            self.unequal.copy(),
            self.text,
            self.interval,
            self.members,
            self.unread,
            self.steps.copy(),
        )
        taken.add(way, owner)
        return taken
