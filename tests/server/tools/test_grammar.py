"""Answers under the grammar of tools: every call is read back, and valid by `jsonschema`, whatever a model prefers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import numpy as np
import pytest

from grammar_cache import CompiledGrammar, GrammarError, Vocabulary, compile_grammar
from grammar_cache.dialects.structural_tags.compiler import parse
from grammar_cache.special_tokens import UNKNOWN_TOKENIZER
from server.decoding.answer import Answer
from server.decoding.decoder import Decoder
from server.decoding.parameters import Parameters
from server.protocol.errors import ApiError
from server.protocol.reading import parse_chat
from server.tools.calling import Calling, calling_of
from server.tools.calls import Parts, parts_of
from server.tools.forms import FORMS
from server.tools.grammar import constraint_of, refusal
from tests.documents import ROOT
from tests.server.decoding.stepping import advance
from tests.server.engines.scripted import Script
from tests.server.engines.scripts import hostile, seeded
from tests.server.running import request

MARKERS = ("<tool_call>", "</tool_call>")
SPECIAL = (
    *("<|python_tag|>", "[TOOL_CALLS]", "[ARGS]", "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"),
    *("<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"),
)
WORDS = (
    *('{"', '":', '"}', '", "', '": ', "name", "arguments", "parameters"),
    *("weather", "city", "days", "json", "```", " [{"),
)
STOP = 256 + len(WORDS)
FIRST = STOP + 1
SILENT: list[bytes | None] = [None] * (1 + len(MARKERS + SPECIAL))
VOCABULARY = Vocabulary(
    [*(bytes([byte]) for byte in range(256)), *(word.encode() for word in WORDS), *SILENT],
    [STOP],
    {FIRST + at: name for at, name in enumerate(MARKERS)},
    {FIRST + len(MARKERS) + at: name for at, name in enumerate(SPECIAL)},
)

SCHEMAS: dict[str, Any] = {
    "weather": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 0}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "pick": {"type": "object", "properties": {"a": {"enum": ["x", None, 3]}}, "required": ["a"]},
    "note": {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}},
    "now": None,
}
PATTERN = r"[a-c]{1,3}(;[a-c]{1,3})*"
TOOLS: list[dict[str, Any]] = [
    *({"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in SCHEMAS.items()),
    {
        "type": "custom",
        "custom": {"name": "sql", "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": PATTERN}}},
    },
    {"type": "custom", "custom": {"name": "say"}},
]
CHOICES: dict[str, dict[str, Any]] = {
    "auto": {},
    "one at most": {"parallel_tool_calls": False},
    "required": {"tool_choice": "required"},
    "named": {"tool_choice": {"type": "function", "function": {"name": "weather"}}},
    "custom": {"tool_choice": {"type": "custom", "custom": {"name": "sql"}}},
    "allowed": {
        "tool_choice": {
            "type": "allowed_tools",
            "allowed_tools": {
                "mode": "required",
                "tools": [
                    {"type": "function", "function": {"name": "pick"}},
                    {"type": "custom", "custom": {"name": "say"}},
                ],
            },
        }
    },
}
ALLOWED = {"named": {"weather"}, "custom": {"sql"}, "allowed": {"pick", "say"}}


def calling(form: str, **fields: Any) -> Calling:
    """Calls that a request with these fields allows."""
    found = calling_of(parse_chat(request(**{"tools": TOOLS, **fields})), FORMS[form])
    assert found is not None
    return found


def scripts() -> Iterator[Script]:
    """Models that know nothing, that never close, that want every mark at once, and that want to end."""
    size = VOCABULARY.size
    yield seeded(size, 1)
    yield seeded(size, 2, spread=20.0)
    yield hostile(size, [*b'{["ab'])
    yield hostile(size, range(FIRST, size))
    yield hostile(size, [*range(FIRST, size), *b'aw"'])
    yield hostile(size, [STOP])


def decoded(grammar: CompiledGrammar, script: Script, parameters: Parameters) -> Answer:
    """The answer of a model under a grammar."""
    decoder = Decoder(grammar.renewed(), parameters)
    while not decoder.answers:
        advance(decoder, np.stack([script(prefix) for prefix in decoder.prefixes]))
    return decoder.answers[0]


def check(found: Parts, choice: str) -> None:
    """Every call is of an allowed tool and gives it what it takes; their number is as the request asks."""
    for call in found.calls:
        assert call.name in ALLOWED.get(choice, {*SCHEMAS, "sql", "say"})
        if call.name == "sql":
            assert re.fullmatch(PATTERN, call.given)
        elif not call.takes_text:
            schema = SCHEMAS[call.name] or {"const": {}}
            jsonschema.Draft202012Validator(schema).validate(json.loads(call.given))
    if choice in ("one at most", "named", "custom"):
        assert len(found.calls) <= 1
    if choice not in ("auto", "one at most"):
        assert found.calls and not found.text


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("form", FORMS)
def test_every_call_is_valid(form: str, choice: str) -> None:
    """Drawn, greedy and by beams, from fair and hostile models, at 32, 64 and 128 tokens wherever the minimum fits."""
    asked = calling(form, **CHOICES[choice])
    grammar = compile_grammar(constraint_of(asked), VOCABULARY)
    tried = 0
    for budget in (32, 64, 128):
        for number, script in enumerate(scripts()):
            for width, temperature in ((1, 1.0), (1, 0.0), *([(2, 0.0)] if number == 0 and budget == 64 else [])):
                if grammar.minimum.tokens > budget:
                    continue
                parameters = Parameters(
                    budget=budget, beam_width=width, temperature=temperature, seed=number, special_names=True
                )
                answer = decoded(grammar, script, parameters)
                assert answer.complete and answer.tokens_used <= budget
                check(parts_of(answer.text.decode(), asked), choice)
                tried += 1
    assert tried


@pytest.mark.parametrize("form", FORMS)
def test_auto_has_text_and_calls(form: str) -> None:
    """One grammar holds the empty text, text, calls, and text before calls; not text behind them, nor half a call."""
    grammar = compile_grammar(constraint_of(calling(form)), VOCABULARY)
    chosen = FORMS[form]
    given = "" if chosen.parameters else "{}"
    call = chosen.lead + "now" + chosen.middle + given
    whole = call + chosen.last
    several = call + chosen.next + "now" + chosen.middle + given + chosen.last

    def accepts(text: str) -> bool:
        return grammar.accepts(grammar.take_bytes(grammar.start, text.encode()))

    assert grammar.minimum.tokens == 0
    assert all(map(accepts, ("", "Hello {", whole, f"So:\n{whole}")))
    assert accepts(several) is chosen.parallel
    assert not any(map(accepts, (f"{whole} That was it.", call[:-1], chosen.trigger, f"Well {chosen.trigger} x")))
    single = compile_grammar(constraint_of(calling(form, parallel_tool_calls=False)), VOCABULARY)
    assert single.take_bytes(single.start, whole.encode()) >= 0
    assert not single.accepts(single.take_bytes(single.start, several.encode()))


def test_special_tokens_and_their_characters() -> None:
    """A model may write a mark by its token or by its characters, and is read alike."""
    asked = calling("hermes", tool_choice="required")
    grammar = compile_grammar(constraint_of(asked), VOCABULARY)
    rest = [*b'\n{"name": "now", "arguments": {}}\n']
    for marks in ([FIRST], [FIRST + 1]), ([*b"<tool_call>"], [*b"</tool_call>"]):
        at = grammar.start
        tokens = [*marks[0], *rest, *marks[1]]
        for token in tokens:
            at = grammar.take(at, token)
        assert grammar.accepts(at)
        [call] = parts_of(VOCABULARY.text(tokens, named=True).decode(), asked).calls
        assert (call.name, call.given) == ("now", "{}")


BROKEN = {
    "an unknown type": {"type": "object", "properties": {"x": {"type": "stsring"}}},
    "a pattern that is none": {"type": "object", "properties": {"x": {"type": "string", "pattern": "("}}},
    "a reference to nothing": {"type": "object", "properties": {"x": {"$ref": "#/$defs/y"}}},
    "no schema": {"type": "object", "properties": 3},
    "what can't be enforced": {"type": "object", "properties": {"x": {"type": "string", "pattern": r"(a)\1"}}},
}


@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize("form", ["hermes", "deepseek"])
@pytest.mark.parametrize("schema", BROKEN.values(), ids=list(BROKEN))
def test_a_bad_schema_names_its_tool(form: str, choice: str, schema: object) -> None:
    """The refusal names the tool and its field, and points into its own schema."""
    bad = {"type": "function", "function": {"name": "bad_one", "parameters": schema}}
    asked = calling(form, tools=[*TOOLS, bad], tool_choice=choice)
    with pytest.raises(GrammarError) as caught:
        parse(constraint_of(asked).text, tokens=UNKNOWN_TOKENIZER)
    told = refusal(caught.value, asked)
    assert told.param == f"tools.{len(TOOLS)}.function.parameters"
    assert "'bad_one'" in told.message
    assert str(told.details["pointer"]).startswith("/properties")


def test_a_type_that_is_no_object_is_refused() -> None:
    """Arguments are objects; a schema of another type is named before anything is compiled."""
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "string"}}}
    with pytest.raises(ApiError, match="'f'") as caught:
        calling("hermes", tools=[tool])
    assert caught.value.param == "tools.0.function.parameters"


def test_schemas_keep_their_references() -> None:
    """A recursive model's schema, whose root is a reference, means what it meant."""
    node = {
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
        "required": ["next"],
        "additionalProperties": False,
    }
    schema = {"$defs": {"Node": node}, "$ref": "#/$defs/Node"}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    asked = calling("hermes", tools=[tool], tool_choice="required")
    grammar = compile_grammar(constraint_of(asked), VOCABULARY)
    for seed in range(10):
        answer = decoded(grammar, seeded(VOCABULARY.size, seed), Parameters(100, temperature=1.0, seed=seed))
        [*calls] = parts_of(answer.text.decode(), asked).calls
        for call in calls:
            jsonschema.Draft202012Validator(schema).validate(json.loads(call.given))


BFCL = ROOT.parent / "shared" / "data" / "bfcl" / "tools.jsonl"


@pytest.mark.skipif(not BFCL.is_file(), reason="the tools of the leaderboard are not on this machine")
def test_tools_of_the_berkeley_leaderboard() -> None:
    """Each tool is read as it is."""
    lines = BFCL.read_text().splitlines()
    assert len(lines) > 100
    for line in lines:
        tool = {name: value for name, value in json.loads(line).items() if name in ("type", "function")}
        asked = calling("hermes", tools=[tool], tool_choice="required")
        parse(constraint_of(asked).text, tokens=UNKNOWN_TOKENIZER)
