"""The verdict on a text: whether it belongs to a language, where it leaves it, and why. It needs no vocabulary.

Two languages are told apart: what would be generated, and (for a JSON Schema) what is valid.
"""

from __future__ import annotations

import json

from grammar_cache import Constraint, LimitExceeded
from grammar_cache.compile import parse
from grammar_cache.limits import DEFAULT_LIMITS
from server.checking import member_order
from server.checking.explanation import Explanation, of_json, of_text
from server.checking.membership import Recogniser, Verdict
from server.protocol.errors import ApiError
from server.protocol.reading import parse_json


def check(wanted: Constraint, text: bytes) -> dict[str, object]:
    """Raises GrammarError; ApiError where a text is too deep for the reference validator."""
    recogniser = Recogniser(parse(wanted))
    verdict = recogniser.judge(text)
    told: dict[str, object] = {"accepted": verdict.accepted}
    if not verdict.accepted:
        told["leaves_at"] = _place(text, verdict.offset)
        told["reason"] = _reason(verdict, len(text))
    if wanted.kind == "json_schema":
        told |= _validity(wanted, text)
    # A text that goes wrong within a tag is nearly always one without it, in other letters: free text is no advice.
    if not verdict.accepted and told.get("valid", True) and wanted.kind != "structural_tag":
        told |= _why(wanted, recogniser, text)
    return told


def _why(wanted: Constraint, recogniser: Recogniser, text: bytes) -> dict[str, object]:
    """Explanation of what would have to be otherwise; nothing where that isn't known."""
    try:
        if wanted.kind == "json_schema":
            explanation: Explanation | None = of_json(recogniser, member_order.read(wanted.text), text)
        else:
            explanation = of_text(recogniser, text)
    except LimitExceeded as error:
        explanation = Explanation(f"to find out why takes too long: {error}")
    if explanation is None:
        return {}
    instead = {} if explanation.instead is None else {"generated_instead": explanation.instead}
    return {"not_generated": explanation.because, **instead}


def _place(text: bytes, offset: int) -> dict[str, int]:
    before = text[:offset].decode(errors="replace")
    line_start = before.rfind("\n") + 1
    return {
        "byte": offset,
        "char": len(before),
        "line": before.count("\n") + 1,
        "column": len(before) - line_start + 1,
    }


def _reason(verdict: Verdict, size: int) -> str:
    if verdict.offset == size:
        end = "it ends too early"
    else:
        end = "nothing may follow here" if not verdict.expected else "this byte can't follow"
    nexts = ", ".join(verdict.expected)
    return f"{end}; next could be {nexts}" if nexts else end


def _validity(wanted: Constraint, text: bytes) -> dict[str, object]:
    """The reference validator's verdict."""
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        value = parse_json(text, DEFAULT_LIMITS.nesting)
    except ApiError as error:
        if "limit" in error.details:
            raise
        return {"valid": False, "invalid_because": error.message}
    schema = json.loads(wanted.text)
    kind = validator_for(schema, default=Draft202012Validator)
    # The checker of the draft: that of all drafts has draft 3's `time` too, which has no offset. An empty registry
    # fetches nothing from anywhere.
    validator = kind(schema, format_checker=kind.FORMAT_CHECKER, registry=Registry())
    try:
        complaint = next(validator.iter_errors(value), None)
    except Unresolvable as error:
        return {"valid": None, "invalid_because": f"a reference leads nowhere: {error}"}
    if complaint is not None:
        return {"valid": False, "invalid_because": f"{complaint.json_path}: {complaint.message}"}
    unjudged = sorted(_formats(schema) - set(kind.FORMAT_CHECKER.checkers))
    return {"valid": True} | ({"formats_not_judged": unjudged} if unjudged else {})


def _formats(schema: object) -> set[str]:
    """The formats that a schema names anywhere."""
    found: set[str] = set()
    todo = [schema]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            if isinstance(part.get("format"), str):
                found.add(part["format"])
            todo += part.values()
        elif isinstance(part, list):
            todo += part
    return found
