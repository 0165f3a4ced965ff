"""`unevaluatedProperties` and `unevaluatedItems`, where it is known which schemas hold.

In one alternative of a conjunction, the schemas that were followed from the one with the keyword are those that
evaluate. Others may hold as well without having been asked for: what they evaluate is not counted, which is
stricter, never laxer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from grammar_cache.dialects.json_schema.containers.array_facts import ArrayFacts
from grammar_cache.dialects.json_schema.containers.object_facts import ObjectFacts
from grammar_cache.dialects.json_schema.logic.facts import Facts
from grammar_cache.dialects.json_schema.schema.atoms import TRUE, Conjunction, is_schema
from grammar_cache.dialects.json_schema.schema.draft import Draft
from grammar_cache.dialects.json_schema.schema.reading import Keywords


def followed(start: str, steps: Iterable[tuple[str, str]]) -> list[str]:
    """The schemas that steps lead to from a schema, itself among them. What a negation leads to evaluates nothing."""
    after: dict[str, list[str]] = {}
    for source, target in steps:
        after.setdefault(source, []).append(target)
    found = {start: None}
    todo = [start]
    while todo:
        for target in after.get(todo.pop(), ()):
            if is_schema(target) and target not in found:
                found[target] = None
                todo.append(target)
    return list(found)


def members(own: Facts, others: Sequence[Facts]) -> ObjectFacts | None:
    """Facts of the members that neither the schema's own keywords nor the others' evaluate."""
    if own.unevaluated_properties is None:
        return None
    everything = (own, *others)
    if any(facts.object.additional is not None for facts in everything):
        return None
    if any(facts.unevaluated_properties is not None for facts in others):
        return None
    return ObjectFacts(
        {name: TRUE for facts in everything for name in facts.object.properties},
        additional=own.unevaluated_properties,
        patterns={regex: TRUE for facts in everything for regex in facts.object.patterns},
    )


def items(own: Facts, others: Sequence[Facts]) -> tuple[int, tuple[Conjunction, ...]] | None:
    """Place from which on items are not evaluated by their place, and what they may satisfy, one of them."""
    if own.unevaluated_items is None:
        return None
    everything = (own, *others)
    if any(facts.array.rest is not None for facts in everything):
        return None
    if any(facts.unevaluated_items is not None for facts in others):
        return None
    first = max(len(facts.array.prefix) for facts in everything)
    contained = tuple((value,) for facts in everything for value in facts.evaluated_items)
    return first, tuple(dict.fromkeys(((own.unevaluated_items,), *contained)))


def further_items(first: int, atom: str) -> ArrayFacts:
    return ArrayFacts(prefix=(TRUE,) * first, rest=atom)


def seen_alone(facts: Facts) -> Facts:
    """Facts of a schema alone: where no other is applied in place, what is not evaluated is what is additional."""
    members, items = facts.object, facts.array
    if members.additional is None:
        members = replace(members, additional=facts.unevaluated_properties)
    if facts.evaluated_items:
        return replace(facts, object=members, unevaluated_properties=None)
    if items.rest is None:
        items = replace(items, rest=facts.unevaluated_items)
    return replace(facts, object=members, array=items, unevaluated_properties=None, unevaluated_items=None)


def evaluated_items(keywords: Keywords) -> tuple[str, ...]:
    """Atoms of items that `contains` evaluates, which it does from draft 2020-12 on."""
    value = keywords.schema("contains")
    return () if value is None or keywords.draft < Draft.DRAFT_2020_12 else (value,)
