"""Real schemas from end to end without a model: whatever the logits, the answers are valid."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from grammar_cache import Constraint, UnsupportedFeature, compile_grammar
from server.decoding.decoder import Decoder
from server.decoding.parameters import Parameters
from tests.cached import EMBEDDED_MODEL, real_vocabulary
from tests.server.decoding.stepping import advance

ROOT = Path(__file__).resolve().parents[2]
TASKS = Path(os.environ.get("SWYB_DATA", ROOT.parent / "shared" / "data")) / "jme" / "jme.jsonl"

pytestmark = pytest.mark.skipif(not TASKS.is_file(), reason=f"no json-mode-eval tasks at {TASKS} (set SWYB_DATA)")


def schemas() -> list[dict[str, Any]]:
    found = [json.loads(line)["schema"] for line in TASKS.read_text(encoding="utf-8").splitlines()]
    return [json.loads(schema) if isinstance(schema, str) else schema for schema in found]


def test_answers_to_real_schemas_are_valid() -> None:
    """Random logits give valid JSON at the minimum and a little above it; few schemas are refused."""
    vocabulary = real_vocabulary(EMBEDDED_MODEL)
    random = np.random.default_rng(0)
    refused = 0
    for schema in schemas():
        try:
            grammar = compile_grammar(Constraint("json_schema", json.dumps(schema)), vocabulary)
        except UnsupportedFeature:
            refused += 1
            continue
        validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)(schema)
        for more in (0, 4):
            budget = grammar.minimum.tokens + more
            decoder = Decoder(grammar, Parameters(budget=budget))
            while decoder.answer is None:
                advance(decoder, 3 * random.standard_normal((1, vocabulary.size), np.float32))
            validator.validate(json.loads(decoder.answer.text))
            assert decoder.answer.tokens_used <= budget
    assert refused <= 6
