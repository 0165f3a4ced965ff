"""Judgement of a text by `json` and `jsonschema`: the judge of JSON tasks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from server.evaluation.task import Verdict


class SchemaJudge:
    """Syntax: one JSON value, nothing else. Valid: it meets the schema, by the draft that this names."""

    def __init__(self, schema: Any, means_the_same: Callable[[Any], bool]) -> None:
        """`means_the_same`: whether a valid value is what was asked for."""
        self._validator = validator_for(schema, default=Draft202012Validator)(schema)
        self._means_the_same = means_the_same

    def __call__(self, text: str) -> Verdict:
        try:
            value = strict(text)
        except (ValueError, RecursionError) as error:
            return Verdict(syntax=False, valid=False, correct=False, detail=str(error))
        fault = next(self._validator.iter_errors(value), None)
        if fault is not None:
            return Verdict(syntax=True, valid=False, correct=False, detail=f"{fault.json_path}: {fault.message}"[:200])
        return Verdict(syntax=True, valid=True, correct=self._means_the_same(value))


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
