"""Values of JSON texts, read strictly and compared as JSON has it."""

from __future__ import annotations

import json
from typing import Any


def strict(text: str) -> Any:
    """The value of a JSON text. Raises ValueError, also for the NaN and Infinity that Python's reader lets through."""
    return json.loads(text, parse_constant=_no_json)


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values: members in any order, 1 and 1.0 the same, 1 and true not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _no_json(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
