"""Objects: declared members in the order of the schema, then any others.

Names that are only required come after the declared ones. Additional members have none of the declared names;
that they don't repeat one another is not ensured (readers keep the last, and each satisfies the schema).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from grammar_cache.dialects.json_schema.combine import alt, optional, repeat, seq
from grammar_cache.dialects.json_schema.encoding import quoted
from grammar_cache.dialects.json_schema.reading import Keywords
from grammar_cache.dialects.json_schema.strings import RULE as STRING_RULE
from grammar_cache.dialects.json_schema.strings import other_keys
from grammar_cache.dialects.json_schema.whitespace import Layout
from grammar_cache.expression import NOTHING, Expression, Ref

RULE = "json.object"


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """What one schema asks of objects, its subschemas by their pointers."""

    properties: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    additional: str | None = None

    @staticmethod
    def read(keywords: Keywords) -> ObjectFacts:
        return ObjectFacts(
            dict(keywords.named_schemas("properties")),
            keywords.texts("required"),
            keywords.schema("additionalProperties"),
        )

    @property
    def free(self) -> bool:
        return self == ObjectFacts()

    def about(self, name: str | None) -> tuple[str, ...]:
        """The schemas of the member of that name; None: of one that no schema declares."""
        if name is not None and name in self.properties:
            return (self.properties[name],)
        return () if self.additional is None else (self.additional,)


def about(all_facts: tuple[ObjectFacts, ...], name: str | None) -> tuple[str, ...]:
    return tuple(pointer for facts in all_facts for pointer in facts.about(name))


def required(all_facts: tuple[ObjectFacts, ...]) -> dict[str, None]:
    return dict.fromkeys(name for facts in all_facts for name in facts.required)


def object_(
    all_facts: tuple[ObjectFacts, ...], layout: Layout, value: Callable[[tuple[str, ...]], Expression]
) -> Expression:
    """The objects for which all the facts hold; `value` says what satisfies some schemas together."""
    needed = required(all_facts)
    names = {name: None for facts in all_facts for name in facts.properties} | needed
    members: list[Expression] = []
    musts: list[bool] = []
    for name in names:
        content = value(about(all_facts, name))
        if content != NOTHING:
            members.append(seq(quoted(name), layout.colon, content))
            musts.append(name in needed)
        elif name in needed:
            return NOTHING
    content = value(about(all_facts, None))
    other = seq(other_keys(tuple(names)), layout.colon, content)
    return _braces(members, musts, other, layout)


def any_object(layout: Layout, any_value: Ref) -> Expression:
    member = seq(Ref(STRING_RULE), layout.colon, any_value)
    return alt(
        (
            layout.empty(b"{", b"}"),
            layout.enclosed(b"{", seq(member, repeat(seq(layout.comma, member), 0, None)), b"}"),
        )
    )


def _braces(members: list[Expression], musts: list[bool], other: Expression, layout: Layout) -> Expression:
    after = [
        seq(layout.comma, member) if must else optional(seq(layout.comma, member))
        for member, must in zip(members, musts, strict=True)
    ]
    others = repeat(seq(layout.comma, other), 0, None)
    if True in musts:
        return layout.enclosed(b"{", _around(members, after, musts.index(True), others, layout), b"}")
    forms = (seq(_some(members, after), others), seq(other, others))
    content = alt(form for form in forms if form != NOTHING)
    empty = layout.empty(b"{", b"}")
    return empty if content == NOTHING else alt((empty, layout.enclosed(b"{", content, b"}")))


def _around(
    members: list[Expression], after: list[Expression], pivot: int, others: Expression, layout: Layout
) -> Expression:
    """Commas hang on the first member that is always there: they follow those before it, lead those after."""
    before = [optional(seq(member, layout.comma)) for member in members[:pivot]]
    return seq(*before, members[pivot], *after[pivot + 1 :], others)


def _some(members: list[Expression], after: list[Expression]) -> Expression:
    """At least one member, none of which is required; `after` are the same, each with its comma, or left out.

    By halves: some of the first half and any of the second, or none of the first. That makes n log n nodes,
    where a chain would need either n² or a rule for each.
    """
    if len(members) <= 1:
        return members[0] if members else NOTHING
    middle = len(members) // 2
    either = seq(_some(members[:middle], after[:middle]), *after[middle:])
    return alt((either, _some(members[middle:], after[middle:])))
