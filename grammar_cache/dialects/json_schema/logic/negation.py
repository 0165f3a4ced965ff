"""Negation of facts: one way for each assertion, to break it.

The ways are facts again, of which the reader makes atoms. A way that can't be enforced carries the reason as its
`refusal`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations

from grammar_cache.dialects.json_schema.containers.array_facts import ArrayFacts, Contains
from grammar_cache.dialects.json_schema.containers.object_facts import ObjectFacts, Some
from grammar_cache.dialects.json_schema.logic.facts import Facts
from grammar_cache.dialects.json_schema.numbers.interval import Bound, Interval
from grammar_cache.dialects.json_schema.schema.atoms import FALSE, TRUE, Conjunction, negation
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.values import ANY_TYPE, ARRAYS, NUMBERS, OBJECTS, STRINGS
from grammar_cache.dialects.json_schema.strings import certainly_outside
from grammar_cache.dialects.json_schema.strings.string_facts import StringFacts


@dataclass(frozen=True, slots=True)
class Naming:
    """Makes atoms: `facts` of some facts, `unequal` of not being a certain value."""

    facts: Callable[[Facts], str]
    unequal: Callable[[Json], str]


def negated(facts: Facts, naming: Naming) -> Facts:
    """Facts that hold of exactly the values of which these don't."""
    found: dict[Conjunction, None] = {}
    for way in _ways(facts, naming):
        found[(naming.facts(way),) if isinstance(way, Facts) else way] = None
    return _one_of(tuple(found))


def _one_of(ways: tuple[Conjunction, ...]) -> Facts:
    if not ways:
        return Facts(types=frozenset())
    return Facts(others=ways[0]) if len(ways) == 1 else Facts(choices=(ways,))


def _ways(facts: Facts, naming: Naming) -> Iterator[Facts | Conjunction]:
    if facts.refusal:
        yield Facts(types=facts.types, refusal=facts.refusal)
    if facts.types != ANY_TYPE:
        yield Facts(types=ANY_TYPE - facts.types)
    for values in facts.values:
        yield none_of(values, naming)
    if "string" in facts.types:
        yield from (replace(way, types=STRINGS) for way in _texts(facts.text))
    if facts.types & NUMBERS:
        yield from (replace(way, types=facts.types & NUMBERS) for way in _numbers(facts.interval))
    if "array" in facts.types:
        yield from (replace(way, types=ARRAYS) for way in _arrays(facts.array))
    if "object" in facts.types:
        yield from (replace(way, types=OBJECTS) for way in _objects(facts.object))
    if facts.incomplete:
        yield Facts(refusal="a schema of which keywords are dropped can't be denied")
    if facts.looks_around:
        yield Facts(refusal="that something is left unevaluated can't be denied")
    yield from ((negation(other),) for other in facts.others)
    yield from (_none_of_the_choices(group) for group in facts.choices)
    for group in facts.exactly:
        yield tuple(map(negation, group))
        yield from combinations(group, 2)


def _none_of_the_choices(group: tuple[Conjunction, ...]) -> Facts:
    single = tuple(negation(way[0]) for way in group if len(way) == 1)
    several = tuple(tuple((negation(atom),) for atom in way) for way in group if len(way) != 1)
    return Facts(others=single, choices=several)


def none_of(values: tuple[Json, ...], naming: Naming) -> Facts:
    """The values that are none of these."""
    constants = {"null" if value is None else str(value).lower() for value in values if isinstance(value, bool | None)}
    return Facts(
        types=ANY_TYPE - constants,
        text=StringFacts(excluded=tuple(value for value in values if isinstance(value, str))),
        interval=Interval(
            excluded=tuple(
                Decimal(value) for value in values if isinstance(value, int | Decimal) and not isinstance(value, bool)
            )
        ),
        others=tuple(naming.unequal(value) for value in values if isinstance(value, list | dict)),
    )


def _texts(text: StringFacts) -> Iterator[Facts]:
    if text.least:
        yield Facts(text=StringFacts(most=text.least - 1))
    if text.most is not None:
        yield Facts(text=StringFacts(least=text.most + 1))
    for pattern in text.patterns:
        yield Facts(text=StringFacts(unmatched=(pattern,)))
    for pattern in text.unmatched:
        yield Facts(text=StringFacts(patterns=(pattern,)))
    for name in text.formats:
        if name in certainly_outside.WIDER:
            yield Facts(text=StringFacts(unlike=(name,)))
        else:
            yield Facts(refusal=f"that a text is not of the format {name} can't be enforced")
    for name in text.unlike:
        yield Facts(text=StringFacts(formats=(name,)))
    for value in text.excluded:
        yield Facts(values=((value,),))


def _numbers(interval: Interval) -> Iterator[Facts]:
    if interval.low is not None:
        yield Facts(interval=Interval(high=Bound(interval.low.value, not interval.low.open)))
    if interval.high is not None:
        yield Facts(interval=Interval(low=Bound(interval.high.value, not interval.high.open)))
    for step in interval.multiples:
        yield Facts(interval=Interval(not_multiples=(step,)))
    for step in interval.not_multiples:
        yield Facts(interval=Interval(multiples=(step,)))
    for value in interval.excluded:
        yield Facts(values=((value,),))


def _arrays(facts: ArrayFacts) -> Iterator[Facts]:
    if facts.least:
        yield Facts(array=ArrayFacts(most=facts.least - 1))
    if facts.most is not None:
        yield Facts(array=ArrayFacts(least=facts.most + 1))
    for place, item in enumerate(facts.prefix):
        yield Facts(array=_differs_at(place, negation(item), least=place + 1))
    if facts.rest is not None:
        some = Contains(negation(facts.rest), after=len(facts.prefix))
        yield Facts(array=ArrayFacts(contains=(some,)))
    for count in facts.contains:
        if count.least:
            yield Facts(array=ArrayFacts(contains=(replace(count, least=0, most=count.least - 1),)))
        if count.most is not None:
            yield Facts(array=ArrayFacts(contains=(replace(count, least=count.most + 1, most=None),)))
    if facts.unique:
        yield Facts(refusal="that items repeat can't be enforced")


def _differs_at(place: int, item: str, *, least: int = 0) -> ArrayFacts:
    return ArrayFacts(prefix=(TRUE,) * place + (item,), least=least)


def _objects(facts: ObjectFacts) -> Iterator[Facts]:
    for name in facts.required:
        if name not in facts.properties:
            yield without(name)
    # Where the member is required, its absence is one way together with a wrong value.
    for name in filter(facts.required.__contains__, facts.properties):
        yield Facts(object=ObjectFacts({name: negation(facts.properties[name])}))
    for name in facts.properties:
        if name not in facts.required:
            yield Facts(object=ObjectFacts({name: negation(facts.properties[name])}, (name,)))
    for pattern, value in facts.patterns.items():
        yield _has(Some(negation(value), pattern=pattern))
    if facts.additional is not None:
        taken = tuple(facts.properties)
        yield _has(Some(negation(facts.additional), beside=taken, unmatched=tuple(facts.patterns)))
    for name in facts.names:
        yield _has(Some(TRUE, names=(negation(name),)))
    if facts.least:
        yield Facts(object=ObjectFacts(most=facts.least - 1))
    if facts.most is not None:
        yield Facts(object=ObjectFacts(least=facts.most + 1))
    for _ in facts.some:
        yield Facts(refusal="that no member is of a certain kind can't be enforced")


def _has(some: Some) -> Facts:
    return Facts(object=ObjectFacts(some=(some,)))


def without(name: str) -> Facts:
    """No object has that member."""
    return Facts(object=ObjectFacts({name: FALSE}))


def different(value: Json, naming: Naming) -> Facts:
    """The values that are not this list or object; its items and members are only named, not looked into."""
    ways: list[Facts] = []
    if isinstance(value, list):
        ways.append(Facts(array=ArrayFacts(least=len(value) + 1)))
        # An array that ends before the place differs as well.
        arrays = (_differs_at(place, naming.unequal(item)) for place, item in enumerate(value))
        ways += [Facts(types=ARRAYS, array=way) for way in arrays]
        return _different(ANY_TYPE - {"array"}, ways, naming)
    if isinstance(value, dict):
        ways.append(_has(Some(TRUE, beside=tuple(value))))
        ways += [Facts(object=ObjectFacts({name: naming.unequal(item)})) for name, item in value.items()]
        return _different(ANY_TYPE - {"object"}, ways, naming)
    return none_of((value,), naming)


def _different(others: frozenset[str], ways: list[Facts], naming: Naming) -> Facts:
    own = ANY_TYPE - others
    return _one_of(((naming.facts(Facts(types=others)),), *((naming.facts(replace(way, types=own)),) for way in ways)))
