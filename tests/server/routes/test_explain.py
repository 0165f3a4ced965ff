"""`/v1/explain` and what `/v1/certify` tells of all answers, over HTTP."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from grammar_cache import Constraint, compile_grammar
from tests.server.running import JSON, STOP, VOCABULARY, Running, error_of

DATE = {"regex": "[0-9]{4}-[01][0-9]!"}
GBNF = {"grammar": 'root ::= a "x"\na ::= "y" | "z" a\nlost ::= more\nmore ::= "q"'}
LARK = {"grammar": 'start: a "x"\na: "y"\nlost: MORE\nMORE: "q"\n'}


def explained(running: Running, **fields: Any) -> dict[str, Any]:
    response = running.client.post("/v1/explain", json=fields)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def test_explanations(running: Running) -> None:
    """Tokens are asked about by id and by text, with a bound and without, and so is the end of a text."""
    told = explained(running, **DATE, prefix="2026-", token="7", tokens_left=9)
    assert told == {
        "object": "explanation",
        "allowed": False,
        "reason": "grammar",
        "message": 'the grammar forbids "7" after "2026-": next could be "0" or "1"',
        "distance": None,
        "next": ["0", "1"],
        "may_end": False,
    }
    assert explained(running, **DATE, prefix="2026-", token=ord("7"), tokens_left=9) == told
    told = explained(running, **DATE, prefix="2026-", token="1", tokens_left=2)
    assert (told["reason"], told["message"]) == ("budget", "fits the grammar, needs 3 tokens, 2 are left")
    assert explained(running, **DATE, prefix="2026-", token="1", tokens_left=3)["allowed"]
    assert explained(running, **DATE, prefix="2026-11!", token=STOP)["allowed"]
    assert not explained(running, **DATE, token=STOP)["allowed"]


def test_explanations_are_what_decoding_lets_through(running: Running) -> None:
    """Random texts, tokens and budgets: allowed as the mask of a grammar that others use at the same time."""
    rng, grammar = random.Random(3), compile_grammar(Constraint("gbnf", GBNF["grammar"]), VOCABULARY)
    for _ in range(25):
        prefix = "z" * rng.randrange(4) + rng.choice(("", "y"))
        at = grammar.consume_bytes(grammar.start, prefix.encode())
        assert at is not None
        token, left = rng.choice([*b"xyzq", STOP]), rng.randrange(1, 4)
        told = explained(running, **GBNF, prefix=prefix, token=token, tokens_left=left)
        assert told["allowed"] == bool(grammar.mask(at, left)[token])
        assert told["reason"] == (
            None if told["allowed"] else "budget" if np.asarray(grammar.mask(at))[token] else "grammar"
        )


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({**DATE, "prefix": "20x", "token": "1"}, "invalid_value", "prefix"),
        ({**DATE, "prefix": "\ud800", "token": "1"}, "invalid_json", None),
        ({**DATE, "token": "20"}, "invalid_value", "token"),
        ({**DATE, "token": 10**9}, "invalid_value", "token"),
        ({**DATE, "token": -1}, "invalid_value", "token"),
        ({**DATE, "token": True}, "invalid_value", "token"),
        (DATE, "missing_parameter", "token"),
        ({**DATE, "token": "1", "tokens_left": -1}, "invalid_value", "tokens_left"),
        ({"token": "1"}, "missing_parameter", "response_format"),
        ({**DATE, "token": "1", "max_tokens": 4}, "unsupported_parameter", "max_tokens"),
        ({**DATE, "token": "1", "model": "other"}, "model_not_found", "model"),
        ({"regex": "(", "token": "1"}, "invalid_grammar", "regex"),
    ],
    ids=str,
)
def test_questions_that_make_no_sense_are_refused(
    running: Running, fields: dict[str, Any], code: str, param: str | None
) -> None:
    """A refusal names the field to blame."""
    error = error_of(running.client.post("/v1/explain", content=json.dumps(fields), headers=JSON))
    assert (error["code"], error["param"]) == (code, param)


def test_refusals_say_what_to_send(running: Running) -> None:
    """The place where a prefix leaves the language and what could come there; a token that the text begins with."""
    error = error_of(running.client.post("/v1/explain", json={**DATE, "prefix": "20x", "token": "1"}))
    assert error["message"] == 'prefix: the grammar forbids "x" after "20": next could be "0–9"'
    error = error_of(running.client.post("/v1/explain", json={**DATE, "token": "nameless"}))
    assert error["message"] == (
        'token: "nameless" is no single token of this model: send a token\'s id, or "name", which it begins with'
    )


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (DATE, (True, 8, True, None, None, [])),
        ({"regex": "a+"}, (False, None, None, None, None, [])),
        (GBNF, (False, None, None, False, None, ["lost", "more"])),
        (LARK, (True, 2, True, False, None, ["lost", "MORE"])),
        ({"grammar": 'root ::= root "+" root | "1"'}, (False, None, None, True, "1+1+1", [])),
    ],
)
def test_certificates_tell_of_all_answers(running: Running, fields: dict[str, Any], told: tuple[Any, ...]) -> None:
    """The largest one, if there is such, a text of two derivations, and what nothing leads to."""
    found = running.client.post("/v1/certify", json=fields).json()
    names = ("finite", "largest_tokens", "largest_exact", "ambiguous", "ambiguous_example", "unreachable_rules")
    assert tuple(found[name] for name in names) == told
