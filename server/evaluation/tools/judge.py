"""Judge of answers that call tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator

from server.evaluation.task import Verdict
from server.evaluation.tools.matching import Expected, match
from server.evaluation.tools.streaming import reads_alike
from server.evaluation.tools.written import WrittenCall, written_calls
from server.tools.calling import Calling
from server.tools.calls import parts_of


class ToolJudge:
    """Syntax: all calls can be read. Valid: there is one, all are of tools there are, their arguments meet the tools'
    schemas, and the server's reader finds the same calls, whole and streamed. Correct: they are the expected ones.
    """

    def __init__(self, functions: Sequence[Mapping[str, Any]], expected: Sequence[Expected], calling: Calling) -> None:
        """`calling`: the calls that answers may hold, of which the server's reader and the form's trigger are taken."""
        self._schemas = {function["name"]: function["parameters"] for function in functions}
        self._validators = {name: Draft202012Validator(schema) for name, schema in self._schemas.items()}
        self._expected = expected
        self._calling = calling

    def __call__(self, text: str) -> Verdict:
        try:
            calls = written_calls(text, self._calling.form.trigger)
        except ValueError as error:
            return Verdict(syntax=False, valid=False, correct=False, detail=str(error)[:200])
        if fault := self._fault(calls) or self._misread(text, calls):
            return Verdict(syntax=True, valid=False, correct=False, detail=fault)
        return Verdict(syntax=True, valid=True, correct=match(calls, self._expected, self._schemas))

    def _fault(self, calls: Sequence[WrittenCall]) -> str:
        """Fault of the first call that is not valid; empty if all are."""
        for call in calls:
            if call.name not in self._validators:
                return f"there is no tool {call.name[:60]!r}"
            error = next(self._validators[call.name].iter_errors(call.arguments), None)
            if error is not None:
                return f"{call.name}, {error.json_path}: {error.message}"[:200]
        return "" if calls else "no call"

    def _misread(self, text: str, calls: Sequence[WrittenCall]) -> str:
        """Fault of the server's reader, on texts that are of its grammar."""
        try:
            read = parts_of(text, self._calling).calls
        except ValueError:  # free text of a model alone, or a peer's
            return ""
        if read and [(call.name, json.loads(call.given)) for call in read] != [(c.name, c.arguments) for c in calls]:
            return "the server reads other calls"
        return "" if reads_alike(text, self._calling) else "streamed calls differ from whole ones"
