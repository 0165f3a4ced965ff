"""`unevaluatedProperties` and `unevaluatedItems`, where it is known which schemas hold.

In one alternative of a conjunction, the schemas that were followed from the one with the keyword are those that
evaluate. Others may hold as well without having been asked for: what they evaluate is not counted, which is
stricter, never laxer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from grammar_cache.dialects.json_schema.containers.array_facts import ArrayFacts
from grammar_cache.dialects.json_schema.containers.object_facts import ObjectFacts
from grammar_cache.dialects.json_schema.logic.assertions import FactReader
from grammar_cache.dialects.json_schema.logic.facts import Facts
from grammar_cache.dialects.json_schema.logic.search_branch import Branch
from grammar_cache.dialects.json_schema.logic.search_context import SearchContext
from grammar_cache.dialects.json_schema.schema.atoms import TRUE, Conjunction, is_schema, pointer


def left_over(
    branch: Branch, reader: FactReader, context: SearchContext, facts: Callable[[str], Facts]
) -> Iterator[str]:
    """Atoms that hold of members and items that no schema evaluates. `facts`: as the search reads them."""
    for atom in branch.own:
        if not facts(atom).looks_around:
            continue
        own, others = _evaluating(atom, branch, reader, context, facts)
        members, items = _members(own, others), _items(own, others)
        if members is not None:
            yield reader.make(Facts(object=members), pointer(atom))
        if items is not None:
            first, ways = items
            one = ways[0][0] if len(ways) == 1 else reader.make(Facts(choices=(ways,)), pointer(atom))
            yield reader.make(Facts(array=ArrayFacts(prefix=(TRUE,) * first, rest=one)), pointer(atom))


def _evaluating(
    atom: str, branch: Branch, reader: FactReader, context: SearchContext, facts: Callable[[str], Facts]
) -> tuple[Facts, list[Facts]]:
    """Facts of a schema that asks about what no schema evaluates, and of those that were followed from it. Where
    its draft knows such questions, keywords that drafts don't know evaluate nothing.
    """
    own = facts(atom)
    if not reader.knows(atom, "unevaluatedItems"):
        return own, [facts(other) for other in _followed(atom, branch.steps)[1:]]
    known = reader.loose(atom)
    if known is not own:
        own = replace(own, array=replace(own.array, prefix=known.array.prefix))
    steps = [step for step in branch.steps if _leads(*step, reader, context)]
    return own, [reader.loose(other) for other in _followed(atom, steps)[1:]]


def _leads(source: str, target: str, reader: FactReader, context: SearchContext) -> bool:
    """Whether an atom from which a step led names the target by keywords that its draft knows."""
    known = reader.loose(source)
    return known is reader.facts(source) or target in map(context.end, known.named)


def _followed(start: str, steps: Iterable[tuple[str, str]]) -> list[str]:
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


def _members(own: Facts, others: Sequence[Facts]) -> ObjectFacts | None:
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


def _items(own: Facts, others: Sequence[Facts]) -> tuple[int, tuple[Conjunction, ...]] | None:
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
