"""Judgement of a text by `json` and `jsonschema`: the judge of JSON tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from server.evaluation.json_values import strict
from server.evaluation.members import MISSING, Members
from server.evaluation.task import Verdict


class SchemaJudge:
    """Syntax: one JSON value, nothing else. Valid: it meets the schema, by the draft that this names."""

    def __init__(
        self, schema: Any, means_the_same: Callable[[Any], bool], count: Callable[[Any], Members] | None = None
    ) -> None:
        """`means_the_same`: whether a valid value is what was asked for. `count`: how a value's members are, `MISSING`
        being none.
        """
        self._validator = validator_for(schema, default=Draft202012Validator)(schema)
        self._means_the_same = means_the_same
        self._count = count

    def __call__(self, text: str) -> Verdict:
        value = MISSING
        try:
            value = strict(text)
        except (ValueError, RecursionError) as error:
            verdict = Verdict(syntax=False, valid=False, correct=False, detail=str(error))
        else:
            verdict = self._of(value)
        return verdict if self._count is None else replace(verdict, members=self._count(value))

    def _of(self, value: Any) -> Verdict:
        fault = next(self._validator.iter_errors(value), None)
        if fault is not None:
            return Verdict(syntax=True, valid=False, correct=False, detail=f"{fault.json_path}: {fault.message}"[:200])
        return Verdict(syntax=True, valid=True, correct=self._means_the_same(value))
