"""Objects: declared members in the order of the schema, then any others.

Names that are only required come after the declared ones. Additional members have none of the declared names;
that they don't repeat one another is not ensured (readers keep the last, and each satisfies the schema).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from grammar_cache.dialects.combine import is_nothing
from grammar_cache.dialects.json_schema.containers import keys
from grammar_cache.dialects.json_schema.containers.canonical_scalars import canonical
from grammar_cache.dialects.json_schema.containers.member_counts import NONE, Member, Walk
from grammar_cache.dialects.json_schema.containers.object_facts import ObjectFacts, Some, about, counts, required
from grammar_cache.dialects.json_schema.containers.separated_members import separated
from grammar_cache.dialects.json_schema.containers.writing import Writer
from grammar_cache.dialects.json_schema.expressions.combine import alt, repeat, seq
from grammar_cache.dialects.json_schema.expressions.encoding import quoted
from grammar_cache.dialects.json_schema.expressions.whitespace import Layout
from grammar_cache.dialects.json_schema.schema.atoms import TRUE, Conjunction, negation, pointer
from grammar_cache.dialects.json_schema.strings.strings import RULE as STRING_RULE
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import EMPTY, NOTHING, Expression, Ref

RULE = "json.object"
_MOST_OBLIGATIONS = 12
_STATES_OF_A_MEMBER = 5
"""States of a member, the last one apart, beside those in its name: after each quotation mark, the colon, the value and
the comma; two more where white space may follow the latter. The members behind it tell them from those of others."""
_OTHER_KEYS = 800
"""Nodes that the keys of other members are charged as, by the time that intersections and complements take."""


class Members:
    """Members that one object may have. `name` begins the names of rules. `names`: those that come first, in order."""

    def __init__(self, all_facts: Sequence[ObjectFacts], name: str, writer: Writer, names: Iterable[str] = ()) -> None:
        self._facts = all_facts
        self._name = name
        self._writer = writer
        self.some = tuple(dict.fromkeys([some for facts in all_facts for some in facts.some]))
        self.owed = frozenset(range(len(self.some)))
        self._by_key = frozenset([index for index, some in enumerate(self.some) if some.value == TRUE])
        self.needed = required(all_facts)
        self._names = dict.fromkeys(names) | dict.fromkeys([name for facts in all_facts for name in facts.properties])
        self._names |= self.needed
        self._names |= dict.fromkeys([name for some in self.some for name in some.beside])
        if writer.order is not None:
            self._names = dict.fromkeys(writer.order(self._names))
        self._about = keys.ByName(all_facts, self._names)
        self._allowed = tuple(dict.fromkeys([name for facts in all_facts for name in facts.names]))
        self._states_beside_name = _STATES_OF_A_MEMBER + 2 * (writer.layout.gap != EMPTY)
        self.pointer = pointer(all_facts[0].pointer)
        if len(self.some) > _MOST_OBLIGATIONS:
            message = f"more than {_MOST_OBLIGATIONS} conditions on some member of an object"
            raise LimitExceeded(message, limit="rules", pointer=self.pointer)

    def declared(self, *, in_a_row: bool) -> list[Member]:
        """One for each name, in the order of the schemas, without those that can't be there. LimitExceeded(rule_states)
        where an automaton that reads them `in_a_row` would be too large anyway."""
        found = []
        left = self._writer.states
        if in_a_row and len(self._facts) == 1 and not self._allowed:  # several may exclude members
            self._check(left - sum(map(self._states, self._names)))
        for name in self._names:
            if in_a_row:
                self._check(left)
            if not self._allowed or self._writer.is_key(self._allowed, name):
                schemas = about(self._about, name, self._writer.matches)
                met = self._met(name) if self.some else NONE
                member = self._member(quoted(name), schemas, met, needed=name in self.needed)
                if member is not None:
                    found.append(member)
                    left -= self._states(name)
        return found

    def _states(self, name: str) -> int:
        return len(name.encode()) + self._states_beside_name

    def _check(self, left: int) -> None:
        if left < 0:
            message = f"an object of so many members needs more than {self._writer.states} automaton states"
            raise LimitExceeded(message, limit="rule_states", pointer=self.pointer)

    def others(self, distinct: int = 1) -> list[Member]:
        """One for each kind of other members. Where `distinct` of them must be told apart by their keys, they are
        divided further, by the last characters of the keys."""
        cells = keys.cells(self._conditions(), self.pointer)
        groups: dict[tuple[Conjunction, frozenset[int]], list[keys.Cell]] = {}
        for cell in cells:
            schemas = self._about.schemas(None, _marked(cell))
            met = frozenset(index for index, some in enumerate(self.some) if _is_met(some, index, cell))
            if not is_nothing(self._writer.value(schemas)):
                groups.setdefault((schemas, met), []).append(cell)
        parts = keys.by_last_character(_parts(distinct, len(groups)))
        further = (self._writer.key(self._allowed),) if self._allowed else ()
        found = []
        for (schemas, met), group in groups.items():
            inside = (keys.union(group), *further) if len(group) < len(cells) else further
            for part in parts:
                self._writer.spend(_OTHER_KEYS if self._names or inside else 0)
                key = keys.other_keys(self._names, (*inside, part) if len(parts) > 1 else inside)
                if self._writer.order is not None:
                    key = canonical(key)
                member = self._member(key, schemas, met)
                found += [] if member is None else [member]
        return found

    def shared(self, members: Sequence[Member]) -> list[Member]:
        """Members written once, as rules, since a walk mentions them over and over."""
        return [
            replace(member, forms={met: self._rule(form, number, met) for met, form in member.forms.items()})
            for number, member in enumerate(members)
        ]

    def _rule(self, form: Expression, number: int, met: frozenset[int]) -> Ref:
        return self._writer.define(" ".join((self._name, "member", str(number), *map(str, sorted(met)))), form)

    def _conditions(self) -> list[keys.Condition]:
        """Conditions that tell other keys apart."""
        patterns: dict[str, str] = {}
        for facts in self._facts:
            patterns |= {regex: pointer(atom) for regex, atom in facts.patterns.items()}
        for some in self.some:
            mentioned = some.unmatched if some.pattern is None else (some.pattern, *some.unmatched)
            patterns = dict.fromkeys(mentioned, pointer(some.value)) | patterns
        keys.check(patterns, self.pointer)
        found = [keys.Condition(regex, self._writer.pattern(regex, where)) for regex, where in patterns.items()]
        return found + [
            keys.Condition(index, self._writer.key(some.names)) for index, some in enumerate(self.some) if some.names
        ]

    def _met(self, name: str) -> frozenset[int]:
        return frozenset(index for index, some in enumerate(self.some) if self._is_about(some, name))

    def _is_about(self, some: Some, name: str) -> bool:
        """Whether the member of that name may be the one that is asked for."""
        where = pointer(some.value)
        if name in some.beside or any(self._matches(regex, name, where) for regex in some.unmatched):
            return False
        if some.pattern is not None and not self._matches(some.pattern, name, where):
            return False
        return not some.names or self._writer.is_key(some.names, name)

    def _matches(self, regex: str, name: str, where: str) -> bool:
        return regex in keys.UNIVERSAL or self._writer.matches(regex, name, where)

    def _member(
        self, key: Expression, schemas: tuple[str, ...], met: frozenset[int], *, needed: bool = False
    ) -> Member | None:
        """A member whose value satisfies schemas; None where there is no such one. `met`: the obligations that it is
        about.
        """
        value, by_value = self._writer.value(schemas), sorted(met - self._by_key)
        if is_nothing(value):
            return None
        always = self._met_by_all(schemas, by_value) if len(by_value) > 1 else NONE  # each doubles the forms
        forms = {NONE: seq(key, self._writer.layout.colon, value)}
        level = [frozenset([one]) for one in by_value if one not in always]
        for some in level:  # grows while it is read
            value = self._writer.value((*schemas, *[self.some[index].value for index in sorted(some)]))
            if not is_nothing(value):
                forms[some] = seq(key, self._writer.layout.colon, value)
                level += [some | {one} for one in by_value if one > max(some) and one not in always]
        return Member(forms, needed, met & self._by_key | always)

    def _met_by_all(self, schemas: tuple[str, ...], obligations: Iterable[int]) -> frozenset[int]:
        """Obligations that all values meet which satisfy schemas."""
        refusing = ((one, self._writer.value((*schemas, negation(self.some[one].value)))) for one in obligations)
        return frozenset([one for one, value in refusing if is_nothing(value)])


def _marked(cell: keys.Cell) -> Callable[[str, str], bool]:
    return lambda regex, _: regex in cell.marks


def _is_met(some: Some, index: int, cell: keys.Cell) -> bool:
    """Whether a key of the cell is one that is asked for."""
    if (some.names and index not in cell.marks) or any(regex in cell.marks for regex in some.unmatched):
        return False
    return some.pattern is None or some.pattern in cell.marks


def _parts(distinct: int, groups: int) -> int:
    """Number of languages to divide other keys into: more make less of what could be said unsayable, and more
    states.
    """
    if distinct < 2:
        return 1
    return max(1, {2: 16, 3: 8}.get(distinct, 6) // max(1, groups))


def object_(all_facts: Sequence[ObjectFacts], name: str, writer: Writer, names: Iterable[str]) -> Expression:
    """The objects for which all the facts hold. `name` begins the names of the rules that it needs. `names`: of
    members, in their order; others come behind.
    """
    least, most = counts(all_facts)
    members = Members(all_facts, name, writer, names)
    in_a_row = most is None and not members.some and (least <= len(members.needed) or least == 1)
    declared = members.declared(in_a_row=in_a_row)
    musts = len(members.needed)
    if sum(member.needed for member in declared) < musts or (most is not None and most < max(least, musts)):
        return NOTHING
    room = most is None or most > musts
    alone = [] if writer.order is None or not room else members.others()
    others = members.others(least - musts) if room and writer.order is None else []
    if most is not None and not others and most >= len(declared):
        most = None
    if most is None and not members.some and (least <= musts or least == 1):
        content = separated(declared, others, writer.layout)
    else:
        if others and least > len(declared) + len(others):
            writer.refuse(members.pointer, "minProperties: so many different names can't be told apart")
            least = musts
        others = members.shared(others)
        content = Walk(declared, others, least, most, members.owed, writer, name).expression()
    contents = [content] if musts or least > 1 else [content, *_each_alone(alone, members.owed)]
    found = forms(writer.layout, contents, or_empty=not (musts or least or members.some))
    if alone and is_nothing(found):
        writer.leave_out(members.pointer, "around objects that need several members which aren't declared")
    return found


def _each_alone(members: Iterable[Member], owed: frozenset[int]) -> list[Expression]:
    """Members each of which meets all obligations without another one."""
    return [form for member in members for met, form in member.forms.items() if met | member.meets >= owed]


def forms(layout: Layout, contents: Iterable[Expression], *, or_empty: bool) -> Expression:
    """Objects with members like that, or without any."""
    empty = [layout.empty(b"{", b"}")] if or_empty else []
    return alt((*empty, *(layout.enclosed(b"{", each, b"}") for each in contents if not is_nothing(each))))


def any_object(layout: Layout, any_value: Ref) -> Expression:
    member = seq(Ref(STRING_RULE), layout.colon, any_value)
    return forms(layout, [seq(member, repeat(seq(layout.comma, member), 0, None))], or_empty=True)
