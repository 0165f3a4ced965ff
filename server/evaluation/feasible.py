"""Feasible number of tokens for a valid JSON text, found without any grammar: what no engine can be blamed for.

An upper bound, so that the share of tasks that fit a budget is a lower bound: a small instance is built from the
schema, a reference answer is written compactly, and the shorter of those that the judge finds valid counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

Split: TypeAlias = Callable[[str], Sequence[int]]
"""Function from a text to its tokens."""

DEPTH = 12
"""Levels below which nothing small is looked for: schemas that call themselves end there."""

_EXAMPLES = {
    "date-time": "2000-01-01T00:00:00Z",
    "date": "2000-01-01",
    "time": "00:00:00Z",
    "email": "a@b.de",
    "hostname": "a",
    "ipv4": "1.1.1.1",
    "ipv6": "::",
    "uri": "a:",
    "uuid": "00000000-0000-0000-0000-000000000000",
}


def short_texts(schema: Any, reference: str) -> tuple[str, str]:
    """The small instance and the reference answer, both written compactly; not necessarily valid."""
    return compact(small(schema, schema)), compact(json.loads(reference))


def compact(value: Any) -> str:
    """JSON without whitespace."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def small(schema: Any, root: Any, depth: int = 0) -> Any:
    """A small value that may be valid: what keywords this doesn't look at demand is not its business."""
    if not isinstance(schema, dict) or not schema or depth > DEPTH:
        return 0
    inside = partial(small, root=root, depth=depth + 1)
    match schema:
        case {"$ref": str(reference)}:
            return inside(_resolved(root, reference))
        case {"const": value}:
            return value
        case {"enum": [_, *_] as values}:
            return _shortest(values)
        case {"anyOf": [_, *_] as branches} | {"oneOf": [_, *_] as branches}:
            return _shortest([inside(branch) for branch in branches])
    kinds = schema.get("type", "object" if schema.keys() & {"properties", "required"} else "integer")
    return _shortest([_of_type(kind, schema, inside) for kind in ([kinds] if isinstance(kinds, str) else kinds)])


def _of_type(kind: str, schema: dict[str, Any], inside: Callable[[Any], Any]) -> Any:
    match kind:
        case "object":
            properties = schema.get("properties", {})
            return {name: inside(properties.get(name, True)) for name in schema.get("required", [])}
        case "array":
            first = [inside(item) for item in schema.get("prefixItems", [])]
            count = schema.get("minItems", 0)
            rest = schema.get("items", True)
            return (first + [inside(rest) for _ in range(count - len(first))])[:count]
        case "string":
            return _EXAMPLES.get(schema.get("format", ""), "a" * schema.get("minLength", 0))
        case "integer" | "number":
            return max(0, schema.get("minimum", 0))
        case "boolean":
            return True
        case _:
            return None


def _shortest(values: Sequence[Any]) -> Any:
    return min(values, key=lambda value: len(compact(value)))


def _resolved(root: Any, reference: str) -> Any:
    for part in reference.lstrip("#/").split("/"):
        root = root[part.replace("~1", "/").replace("~0", "~")] if part else root
    return root
