"""`swyb check`: does a text belong, and where does it leave the language? Needs no vocabulary and no model.

Two languages are told apart: what would be generated, and (for a JSON Schema) what is valid.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from grammar_cache import Constraint, GrammarError
from grammar_cache.compile import DEFAULT_LIMITS, parse
from server.commands.options import add_constraint, constraint, print_json, read_bytes
from server.membership import Recogniser, Verdict
from server.protocol.errors import ApiError, of_grammar
from server.protocol.reading import parse_json

REFUSED = 2
"""The exit status where no verdict is possible."""


def add_arguments(parser: ArgumentParser) -> None:
    add_constraint(parser, required=True)
    parser.add_argument("text", metavar="TEXTFILE", help='the text to judge; "-" reads the standard input')


def run(arguments: Namespace) -> int:
    """Prints the verdict: 0 if the text belongs (for a schema: is valid), 1 if not, 2 if nobody can say."""
    wanted = constraint(arguments)
    assert wanted is not None, "the parser requires one"
    try:
        verdict = check(wanted, read_bytes(arguments.text))
    except GrammarError as error:
        print_json(of_grammar(error, None).body)
        return REFUSED
    except ApiError as error:
        print_json(error.body)
        return REFUSED
    print_json(verdict)
    return 0 if verdict.get("valid", verdict["accepted"]) else 1


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
        if told["valid"] and not verdict.accepted:
            told["not_generated"] = _not_generated(wanted, recogniser, text)
    return told


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
    from jsonschema import FormatChecker
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
    # An empty registry fetches nothing from anywhere.
    validator = kind(schema, format_checker=FormatChecker(), registry=Registry())
    try:
        complaint = next(validator.iter_errors(value), None)
    except Unresolvable as error:
        return {"valid": None, "invalid_because": f"a reference leads nowhere: {error}"}
    if complaint is None:
        return {"valid": True}
    return {"valid": False, "invalid_because": f"{complaint.json_path}: {complaint.message}"}


def _not_generated(wanted: Constraint, recogniser: Recogniser, text: bytes) -> str:
    """Why a valid text is not among those that are generated."""
    value = json.loads(text)
    if recogniser.judge(_spelled(value)).accepted:
        return "the same value is generated, but its whitespace, escapes or numbers are spelled otherwise"
    order = _order(json.loads(wanted.text))
    if recogniser.judge(_spelled(_sorted(value, order))).accepted:
        return "the same value is generated, but with its properties in the order of the schema"
    return "generated values are a subset: properties in the schema's order, bounded whitespace, capped digits"


def _spelled(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _order(schema: object) -> dict[str, int]:
    """Property names by their first place in the schema."""
    order: dict[str, int] = {}
    todo = [schema]
    while todo:
        part = todo.pop(0)
        if isinstance(part, dict):
            properties = part.get("properties")
            for name in properties if isinstance(properties, dict) else ():
                order.setdefault(name, len(order))
            todo += part.values()
        elif isinstance(part, list):
            todo += part
    return order


def _sorted(value: Any, order: dict[str, int]) -> Any:
    """The value with its properties in that order. As deep as `parse_json` let it be."""
    if isinstance(value, list):
        return [_sorted(item, order) for item in value]
    if not isinstance(value, dict):
        return value
    names = sorted(value, key=lambda name: order.get(name, len(order)))
    return {name: _sorted(value[name], order) for name in names}
