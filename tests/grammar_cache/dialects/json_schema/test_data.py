"""The JSON Schema dialect on published schemas with instances."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.errors import LimitExceeded, UnsupportedFeature
from grammar_cache.expression import Grammar
from tests.expression_matcher import matches
from tests.grammar_cache.dialects.json_schema.oracle import SYNTAX_OF_DRAFT_7, records

NOT_ASSERTED = ("contentMediaType", "contentEncoding")
LONGEST = 1_500


def _compiled(schemas: list[Any]) -> tuple[list[Grammar | None], int]:
    """Grammars in the places of the schemas, None for those that are refused, and how many those are."""
    grammars: list[Grammar | None] = []
    for schema in schemas:
        try:
            grammars.append(parse(json.dumps(schema)))
        except (UnsupportedFeature, LimitExceeded):
            grammars.append(None)
    return grammars, grammars.count(None)


def test_json_mode_eval_is_generated() -> None:
    """A tenth of the schemas is refused at most, and every gold completion of the others belongs."""
    items = records("jme", "jme.jsonl")
    grammars, refused = _compiled([json.loads(item["schema"]) for item in items])
    assert refused <= len(items) // 10
    for item, grammar in zip(items, grammars, strict=True):
        if grammar is not None:
            assert matches(grammar, item["completion"].encode()), item["id"]


@pytest.mark.parametrize("draft", ["draft2020-12", "draft7"])
def test_nothing_invalid_is_generated_in_the_official_suite(draft: str) -> None:
    """No instance that the suite calls invalid belongs to a grammar, but for annotations of content."""
    groups = records("jsonschema_test_suite", f"{draft}.jsonl")
    schemas = [group["schema"] for group in groups]
    if draft == "draft7":
        schemas = [{"$schema": SYNTAX_OF_DRAFT_7, **one} if isinstance(one, dict) else one for one in schemas]
    grammars, refused = _compiled(schemas)
    assert refused < len(groups) * 0.6
    accepted = 0
    for group, grammar in zip(groups, grammars, strict=True):
        if grammar is None or any(name in json.dumps(group["schema"]) for name in NOT_ASSERTED):
            continue
        for test in group["tests"]:
            found = matches(grammar, json.dumps(test["data"], ensure_ascii=False).encode())
            assert test["valid"] or not found, (group["id"], test["description"])
            accepted += found
    assert accepted > 400


def test_real_schemas_tell_their_instances_apart() -> None:
    """No invalid instance of a sample of JSONSchemaBench is generated, and nearly all valid ones are."""
    items = records("jsonschemabench", "corpus.jsonl")[::5]
    grammars, refused = _compiled([item["schema"] for item in items])
    assert refused < len(items) * 0.45
    verdicts = []
    for item, grammar in zip(items, grammars, strict=True):
        for test in item["tests"]:
            if grammar is not None and len(test["text"]) <= LONGEST:
                found = matches(grammar, test["text"].encode())
                assert test["valid"] or not found, item["id"]
                verdicts += [found] if test["valid"] else []
    assert sum(verdicts) > 0.9 * len(verdicts)
