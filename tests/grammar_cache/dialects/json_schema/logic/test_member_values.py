"""Listed values of members against all objects of some values, and chains of `if` schemas that they tell apart."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.dialects.json_schema.logic.assertions import FactReader
from grammar_cache.dialects.json_schema.logic.conjunction import Conjunctions
from grammar_cache.dialects.json_schema.logic.member_values import FREE
from grammar_cache.dialects.json_schema.schema.document import Document
from grammar_cache.dialects.json_schema.schema.loading import load
from grammar_cache.dialects.json_schema.schema.unenforced import Unenforced
from grammar_cache.dialects.json_schema.strings.patterns import Patterns
from grammar_cache.dialects.json_schema.strings.string_facts import StringFacts
from grammar_cache.errors import LimitExceeded
from grammar_cache.limits import Limits
from tests.expression_matcher import matches

VALUES: list[Any] = [1, 2, "x", None]
ABSENT = object()
OBJECTS = [
    {name: value for name, value in (("k", k), ("l", other)) if value is not ABSENT}
    for k in (*VALUES, ABSENT)
    for other in (*VALUES, ABSENT)
]
listed = st.one_of(
    st.sampled_from(VALUES).map(lambda value: {"const": value}),
    st.lists(st.sampled_from(VALUES), min_size=1, max_size=3, unique=True).map(lambda values: {"enum": values}),
)
asked = st.fixed_dictionaries(
    {
        "properties": st.fixed_dictionaries({}, optional={"k": listed, "l": listed}),
        "required": st.lists(st.sampled_from(["k", "l"]), unique=True),
    }
)


@given(st.lists(asked, max_size=4), asked)
def test_an_excluded_schema_holds_of_no_object(held: list[Any], other: Any) -> None:
    """Schemas that some object satisfies exclude another one exactly where no object satisfies all of them."""
    document, patterns = Document(load(json.dumps({"allOf": [*held, other]}), Limits())), Patterns(Limits())
    conjunctions = Conjunctions(FactReader(document, patterns, Unenforced(lenient=False)), patterns, Limits())
    members = FREE
    for place in range(len(held)):
        members = members.both(conjunctions.member_values(f"/allOf/{place}"))
    first, second = (
        [value for value in OBJECTS if all(jsonschema.Draft202012Validator(one).is_valid(value) for one in schemas)]
        for schemas in (held, [other])
    )
    assume(first)
    excludes = members.excludes(conjunctions.member_values(f"/allOf/{len(held)}"))
    assert excludes == (not any(value in second for value in first))


chains = st.lists(
    st.tuples(st.booleans(), st.lists(st.integers(0, 3), min_size=1, max_size=2, unique=True)), max_size=3
)


@given(chains, st.sampled_from([None, "object", ["object", "null"]]), st.booleans())
def test_chains_of_if_mean_what_the_validator_says(chain: Any, types: Any, required: bool) -> None:
    """Chains by one member's value, which one or another link requires."""
    links = []
    for place, (requires, values) in enumerate(chain):
        condition: dict[str, Any] = {"properties": {"kind": {"enum": [f"k{value}" for value in values]}}}
        links.append(
            {
                "if": condition | ({"required": ["kind"]} if requires else {}),
                "then": {"required": [f"own{place}"]},
            }
        )
    declared = {"kind": {"type": "string"}} | {f"own{place}": {"type": "integer"} for place in range(3)}
    schema: dict[str, Any] = {"properties": declared, "allOf": links or [{}]}
    schema |= {} if types is None else {"type": types}
    schema |= {"required": ["kind"]} if required else {}
    own = [{f"own{place}": 1 for place in range(3) if chosen >> place & 1} for chosen in range(8)]
    kinds: list[dict[str, Any]] = [{}, *({"kind": f"k{value}"} for value in range(5)), {"kind": 1}]
    validator = jsonschema.Draft202012Validator(schema)
    grammar = parse(json.dumps(schema))
    for value in (None, 1, *(kind | some for kind in kinds for some in own)):
        assert matches(grammar, json.dumps(value).encode()) == validator.is_valid(value)


def test_a_long_chain_of_if_takes_few_steps() -> None:
    """Links that don't require the member are told apart too: their number times itself, and not its cube."""
    links = [
        {"if": {"properties": {"kind": {"const": f"k{place}"}}}, "then": {"required": [f"own{place}"]}}
        for place in range(40)
    ]
    schema = {"type": "object", "properties": {"kind": {"enum": [f"k{n}" for n in range(40)]}}, "allOf": links}
    assert len(parse(json.dumps(schema), limits=Limits(rules=8_000)).rules) > 40


def test_putting_excluded_values_together_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links of a chain exclude a hundred values each, which are put together again and again: no more than a hundred
    are in the time of a step.
    """
    merged = 0
    both = StringFacts.both

    def counting(facts: StringFacts, other: StringFacts) -> StringFacts:
        nonlocal merged
        found = both(facts, other)
        merged += len(found.excluded)
        return found

    monkeypatch.setattr(StringFacts, "both", counting)
    links = [
        {
            "if": {"properties": {"kind": {"enum": [f"{place} {value}" for value in range(100)]}}},
            "then": {"required": [f"own{place}"]},
        }
        for place in range(100)
    ]
    with pytest.raises(LimitExceeded, match="more than 20000 steps of work"):
        parse(json.dumps({"type": "object", "allOf": links}), limits=Limits(rules=5_000))
    assert merged < 20_000 * 100
