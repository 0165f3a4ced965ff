"""The official JSON Schema test suite, judged group by group; run as a module, it writes the baseline.

An instance of the suite is a value, so it is judged as one: it belongs if the grammar derives a text of it with the
members of its objects in some order. Groups and tests are known by their descriptions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from grammar_cache import Constraint, GrammarError, Limits
from grammar_cache.compile import parse
from grammar_cache.errors import EmptyLanguage
from server.checking import member_order
from server.checking.membership import Recogniser
from tests.grammar_cache.dialects.json_schema.oracle import SYNTAX_OF_DRAFT_7, records

DRAFTS = ("draft2020-12", "draft7")
BASELINE = Path(__file__).with_name("official_suite_baseline.json")
UNASSERTED = frozenset({"optional/content.json"})
"""Files on what a draft lets a validator assert or not, and we don't: see docs/reference/json-schema.md."""

Found: TypeAlias = "str | dict[str, str]"
"""Findings of one group: why it is refused, or the valid tests that are not generated, each with a reason if one is
plain.
"""


def groups(draft: str) -> list[dict[str, Any]]:
    """The suite's groups, or the test is skipped."""
    found = records("jsonschema_test_suite", f"{draft}.jsonl")
    return [group for group in found if group["file"] not in UNASSERTED]


def key(group: dict[str, Any]) -> str:
    return f"{group['file'].removesuffix('.json')}: {group['description']}"


def judge(draft: str, group: dict[str, Any]) -> tuple[Found, list[str]]:
    """Valid values of the suite that are not generated, and invalid ones that are accepted."""
    schema = group["schema"]
    if draft == "draft7" and isinstance(schema, dict):
        schema = {"$schema": SYNTAX_OF_DRAFT_7, **schema}
    limits = Limits()
    try:
        grammar = parse(Constraint("json_schema", json.dumps(schema)), limits)
        table = Recogniser(grammar, limits).table
        verdicts = {test["description"]: derives(table, test["data"]) for test in group["tests"]}
    except EmptyLanguage:
        verdicts = dict.fromkeys((test["description"] for test in group["tests"]), False)
    except GrammarError as error:
        return f"{error.code}: {error.message}", []
    missed = {
        test["description"]: _reason(table, test["data"])
        for test in group["tests"]
        if test["valid"] and not verdicts[test["description"]]
    }
    return missed, [
        test["description"] for test in group["tests"] if verdicts[test["description"]] and not test["valid"]
    ]


def derives(table: member_order.Table, value: Any) -> bool:
    return member_order.generated(table, member_order.read(json.dumps(value, ensure_ascii=False))) is not None


def _reason(table: member_order.Table, value: Any) -> str:
    plain = _plain(value)
    return "a number is spelled otherwise" if plain != str(value) and derives(table, json.loads(plain)) else ""


def _plain(value: Any) -> str:
    """The text with integral floats as integers."""
    return json.dumps(json.loads(json.dumps(value), parse_float=lambda text: _number(float(text))))


def _number(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def missed(found: Found, group: dict[str, Any]) -> set[str]:
    """The valid tests of a group that are not generated."""
    if isinstance(found, str):
        return {test["description"] for test in group["tests"] if test["valid"]}
    return set(found)


def baseline() -> dict[str, dict[str, Found]]:
    """The state below which the present one may not fall; a group that isn't in it is generated as it should be."""
    read: dict[str, dict[str, Found]] = json.loads(BASELINE.read_text(encoding="utf-8"))
    return read


def _all(draft: str) -> Iterator[tuple[str, Found]]:
    for group in groups(draft):
        found, _ = judge(draft, group)
        yield key(group), found


def refresh() -> None:
    """Writes the present state: groups that are generated as they should be are only counted."""
    told: dict[str, Any] = {}
    for draft in DRAFTS:
        every = dict(_all(draft))
        told[draft] = dict(sorted(every.items()))
        refused = sum(isinstance(found, str) for found in every.values())
        right = sum(found == {} for found in every.values())
        print(f"{draft}: {len(every)} groups, {right} right, {refused} refused, {len(every) - right - refused} partly")
    BASELINE.write_text(json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    refresh()
