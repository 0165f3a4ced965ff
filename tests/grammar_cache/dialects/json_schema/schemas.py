"""Random schemas in which keywords contradict, repeat and exclude each other, and small values to try them on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, permutations, product
from typing import Any

from hypothesis import strategies as st

NAMES = ("a", "b", "c")
_SCALARS = (None, True, False, "", "a", "ab", "bbb", 0, 1, 2, -3, 1.5)
_TYPES = ("string", "object", "array", "null", "boolean", "integer", "number")
_NAME = st.sampled_from(NAMES)
_COUNT = st.integers(0, 2)
VALUES = st.recursive(
    st.sampled_from(_SCALARS),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_NAME, inner, max_size=3),
    max_leaves=5,
)

_SIMPLE: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(_TYPES) | st.lists(st.sampled_from(_TYPES), min_size=1, max_size=3, unique=True),
    "enum": st.lists(VALUES, min_size=1, max_size=3),
    "const": VALUES,
    "required": st.lists(_NAME, min_size=1, max_size=2, unique=True),
    "pattern": st.sampled_from(("^a", "b", "^.$", "a|bb")),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _COUNT),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum"), st.sampled_from((0, 1, 1.5, -2))),
    "dependentRequired": st.dictionaries(_NAME, st.lists(_NAME, max_size=2, unique=True), max_size=2),
}


def _nested(inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    group = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(_NAME, inner, min_size=1, max_size=2)
    return {
        **dict.fromkeys(("oneOf", "anyOf", "allOf"), group),
        **dict.fromkeys(("not", "if", "then", "else", "items", "contains", "additionalProperties"), inner),
        **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), inner),
        **dict.fromkeys(("properties", "dependentSchemas"), named),
        "patternProperties": st.dictionaries(st.sampled_from(("^a", "b", "^[ab]$")), inner, min_size=1, max_size=1),
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
    }


def _objects(keywords: dict[str, st.SearchStrategy[Any]], most: int) -> st.SearchStrategy[Any]:
    return st.lists(st.sampled_from(sorted(keywords)), max_size=most, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: keywords[name] for name in names})
    )


def schemas(*, without: tuple[str, ...] = ()) -> st.SearchStrategy[Any]:
    """Three levels deep; `without`: keywords that are left out."""

    def kept(keywords: dict[str, st.SearchStrategy[Any]]) -> dict[str, st.SearchStrategy[Any]]:
        return {name: values for name, values in keywords.items() if name not in without}

    found = st.booleans() | _objects(kept(_SIMPLE), 2)
    for _ in range(2):
        found = _objects(kept({**_SIMPLE, **_nested(found)}), 3)
    return found


def orders(value: Any) -> Iterator[Any]:
    """The value with the members of its objects in other orders, the first few of each."""
    if isinstance(value, dict):
        for names in permutations(value):
            for items in product(*(list(islice(orders(value[name]), 6)) for name in names)):
                yield dict(zip(names, items, strict=True))
    elif isinstance(value, list):
        yield from map(list, product(*(list(islice(orders(item), 6)) for item in value)))
    else:
        yield value
