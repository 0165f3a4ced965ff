"""Random bodies of valid and invalid fields: never a failure of the server, never a constraint that isn't enforced.

Each fragment of a body that asks for a constraint has a judge of its own, by `json`, `jsonschema`, `re` or the list of
choices. Whatever is answered with 200 satisfies the judges of all fragments that its body holds.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest

from grammar_cache import Limits
from server.settings import Settings
from tests.server.running import JSON, error_of, schema_format, serving

BODIES = 20_000
QUICK_BODIES = 150

Judge = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Fragment:
    """Fields of a body; `judge` says whether a text satisfies what they ask for, None that they ask for nothing."""

    fields: dict[str, Any]
    judge: Judge | None = None


def fragments(*several: dict[str, Any], judge: Judge | None = None) -> list[Fragment]:
    return [Fragment(fields, judge) for fields in several]


def never(text: str) -> bool:
    """A constraint that can't be kept, or that nobody knows: no text is an answer to it."""
    return False


def fits(schema: object) -> Judge:
    validator = jsonschema.Draft202012Validator(schema)

    def judge(text: str) -> bool:
        return bool(validator.is_valid(json.loads(text)))

    return judge


def matches(pattern: str) -> Judge:
    return lambda text: re.fullmatch(pattern, text) is not None


def one_of(*texts: str) -> Judge:
    return lambda text: text in texts


SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
    {"enum": ["the", "quick", 7, None]},
    {"type": "array", "items": {"type": "boolean"}, "maxItems": 3},
    {"type": "string", "maxLength": 4},
]
PATTERNS = ["[ab]{2,5}", "(yes|no)( name)?", "x?"]
CHOICES = [["the", "name"], ["é"]]
GBNF = {'root ::= "a" root | "b"': "a*b", 'root ::= [0-9]{2} ("x" | "y")': "[0-9]{2}[xy]"}
LARK = {'start: "a"+ "b"': "a+b", "start: /[0-9]/ /x|y/": "[0-9][xy]"}
ANY_OBJECT = {"type": "object"}


def _of_schema(schema: dict[str, Any]) -> list[dict[str, Any]]:
    text = json.dumps(schema)
    return [
        *({"response_format": schema_format(schema)}, {"response_format": {"type": "json_schema", "schema": schema}}),
        *(
            {"response_format": {"type": "json", "value": text}},
            {"response_format": {"type": "json", "schema": schema}},
        ),
        {"response_format": {"type": "json_object", "schema": schema}},
        {"response_format": {"type": "json_schema", "value": {"name": "n", "schema": schema}}},
        *({"json_schema": schema}, {"json_schema": text}, {"guided_json": schema}, {"guided_json": text}),
        *({"structured_outputs": {"json": schema}}, {"structured_outputs": {"json": text, "whitespace_pattern": ""}}),
        *({"guided_json": schema, "guided_whitespace_pattern": r"[ \n\t\r]*"}, {"format": schema}),
    ]


def _of_object() -> list[dict[str, Any]]:
    return [
        *({"response_format": {"type": "json_object"}}, {"structured_outputs": {"json_object": True}}),
        *({"guided_json_object": True}, {"format": "json"}),
    ]


def _of_pattern(pattern: str) -> list[dict[str, Any]]:
    return [
        *({"response_format": {"type": "regex", name: pattern}} for name in ("regex", "pattern", "value")),
        {"response_format": {"type": "regex_schema", "regex_schema": pattern}},
        *({"regex": pattern}, {"guided_regex": pattern}, {"structured_outputs": {"regex": pattern}}),
    ]


def _of_choice(choice: list[str]) -> list[dict[str, Any]]:
    return [
        *({"response_format": {"type": "choice", "choice": choice}}, {"guided_choice": choice}),
        {"structured_outputs": {"choice": choice}},
    ]


def _of_grammar(grammar: str) -> list[dict[str, Any]]:
    return [
        *({"grammar": grammar}, {"guided_grammar": grammar}, {"structured_outputs": {"grammar": grammar}}),
        *({"response_format": {"type": "grammar", name: grammar}} for name in ("grammar", "value")),
    ]


def _of_gbnf(grammar: str) -> list[dict[str, Any]]:
    return [*_of_grammar(grammar), {"ebnf": grammar}, {"response_format": {"type": "ebnf", "ebnf": grammar}}]


CONSTRAINTS = [
    *(Fragment(fields, fits(schema)) for schema in SCHEMAS for fields in _of_schema(schema)),
    *(Fragment(fields, fits(ANY_OBJECT)) for fields in _of_object()),
    *(Fragment(fields, matches(pattern)) for pattern in PATTERNS for fields in _of_pattern(pattern)),
    *(Fragment(fields, one_of(*choice)) for choice in CHOICES for fields in _of_choice(choice)),
    *(Fragment(fields, matches(pattern)) for grammar, pattern in GBNF.items() for fields in _of_gbnf(grammar)),
    *(Fragment(fields, matches(pattern)) for grammar, pattern in LARK.items() for fields in _of_grammar(grammar)),
]

BROKEN = fragments(
    *({"guided_jsn": {}}, {"json_scheme": {}}, {"output_format": "json"}, {"guidedRegex": "a"}, {"choices": ["a"]}),
    *({"grammer_text": "a"}, {"structural_tag": "{}"}, {"lark": "x"}, {"json_object": True}, {"choice": ["a"]}),
    *({"structured_outputs": {}}, {"structured_outputs": {"structural_tag": "{}"}}, {"format": "yaml"}),
    *({"response_format": {"type": "structural_tag", "format": {}}}, {"response_format": {"type": "yaml"}}),
    *({"guided_json": "{"}, {"guided_json": {"type": "stsring"}}, {"regex": "("}, {"ebnf": "root ::= ("}),
    *(
        {"grammar": "start: ("},
        {"grammar": ""},
        {"guided_choice": []},
        {"guided_choice": "a"},
        {"json_schema": {"not": {}}},
    ),
    *({"response_format": {"type": "json"}}, {"response_format": []}, {"grammar": {"name": "nobody's"}}),
    *({"structured_outputs": {"json": {}, "regex": "a"}}, {"response_format": {"type": "regex", "regx": "a"}}),
    {"structured_outputs": {"json": {}, "whitespace_pattern": " ?"}},
    *({"tool_choice": "required"}, {"tool_choice": {"type": "function", "function": {"name": "f"}}}),
    judge=never,
)
"""Constraints that are written wrong, contradict themselves, or that nobody knows."""

NEUTRAL = fragments(
    *({"tfs_z": 1.0}, {"lora": []}, {"penalize_nl": False}, {"logits_processors": []}, {"kv_transfer_params": {}}),
    *({"store": True}, {"user": "u"}, {"metadata": {"a": 1}}, {"service_tier": "auto"}, {"keep_alive": "5m"}),
    *({"guided_json": None}, {"response_format": {"type": "text"}}, {"guided_json_object": False}),
    *({"n": 2}, {"seed": 3}, {"temperature": 0}, {"temperature": 1.5}, {"top_p": 0.5}, {"top_k": 2}, {"n": 1}),
    *({"swyb": {"beam_width": 2}}, {"swyb": {"whitespace": "compact"}}, {"swyb": {"lenient": True}}, {"swyb": {}}),
    *({"max_tokens": 1}, {"max_tokens": 3}, {"max_tokens": 60}, {"tools": [], "tool_choice": "none"}),
    *({"chat_template_kwargs": {"enable_thinking": False}}, {"guided_decoding_backend": "xgrammar"}),
    *({"stop": None}, {"stop": ["a"]}, {"stream_options": None}, {"echo": False}, {"cache_prompt": True}),
    *({"options": {"temperature": 0.5, "num_ctx": 99}}, {"options": {"num_predict": 40}}, {"n_predict": -1}),
    *({"repeat_penalty": 1.3}, {"repeat_last_n": 8}, {"think": False}, {"thinking": {"type": "disabled"}}),
)
INVALID = fragments(
    *({"max_tokens": 0}, {"temperature": "hot"}, {"n": 999}, {"seed": 1 << 70}, {"top_p": 7}, {"stream": 1}),
    *({"novelty": 1}, {"messages": []}, {"messages": [{"role": "user"}]}, {"swyb": {"beams": 1}}, {"swyb": 3}),
    *({"chat_template": "{{ 1 }}"}, {"chat_template_kwargs": {"messages": []}}, {"tfs_z": 0.5}, {"lora": [1]}),
    *({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, {"model": "nobody's"}, {"think": 3}),
    *({"messages": [{"role": "tool", "content": "x"}]}, {"metadata": []}, {"echo": True}, {"stop": [1]}),
    *({"options": {"novel": 1}}, {"options": {"mirostat": 1}}, {"options": []}, {"n_predict": 3}),
)


def body_of(rng: random.Random) -> tuple[dict[str, Any], list[Judge]]:
    """A body, and judges of the constraints that it holds. A later field of a name replaces an earlier one.

    The first field of a fragment is what its judge is about.
    """
    kinds = rng.choices((CONSTRAINTS, NEUTRAL, INVALID, BROKEN), (8, 8, 1, 1), k=rng.randrange(4))
    chosen = [rng.choice(CONSTRAINTS), *(rng.choice(kind) for kind in kinds)]
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 40}
    judged: dict[str, Judge | None] = {}
    for fragment in chosen:
        body |= fragment.fields
        for name in fragment.fields:
            judged.pop(name, None)
        judged[next(iter(fragment.fields))] = fragment.judge
    return body, [judge for judge in judged.values() if judge is not None]


def outcomes(bodies: int, seed: int) -> Counter[int]:
    """Number of bodies by status, each answer judged."""
    rng, found = random.Random(seed), Counter[int]()
    # What is tried is the interface: no random body shall take its whole time.
    small = Limits(rules=2_000, expression_size=20_000, rule_states=2_000, states=5_000, configurations=20_000)
    with serving(settings=Settings(limits=small, cached_grammars=256), context_window=96) as server:
        for _ in range(bodies):
            body, judges = body_of(rng)
            answer = server.client.post("/v1/chat/completions", content=json.dumps(body), headers=JSON)
            found[answer.status_code] += 1
            assert answer.status_code < 500, (body, answer.text)
            if answer.status_code != 200:
                error_of(answer)
                continue
            for choice in answer.json()["choices"]:
                text = choice["message"]["content"]
                assert all(judge(text) for judge in judges), (body, text)
        assert server.service.present == 0
    return found


def test_some_bodies() -> None:
    """Answers and refusals are both there."""
    found = outcomes(QUICK_BODIES, 1)
    assert found[200] > QUICK_BODIES / 5
    assert found[400] > QUICK_BODIES / 5


@pytest.mark.full
@pytest.mark.timeout(3_600)
def test_thousands_of_bodies() -> None:
    """No body makes the server fail, or answer with what it didn't ask for."""
    found = outcomes(BODIES, 2)
    print(dict(found))
    assert min(found[200], found[400]) > BODIES / 5
