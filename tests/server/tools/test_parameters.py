"""Parameters in tags: written by each form's own parts, and read back as JSON, wherever the text is cut."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import CompiledGrammar, GrammarError, compile_grammar
from grammar_cache.dialects.structural_tags.compiler import parse
from grammar_cache.special_tokens import UNKNOWN_TOKENIZER
from server.decoding.parameters import Parameters
from server.protocol.chat import ChatRequest
from server.protocol.errors import ApiError, ErrorCode
from server.tools.calling import Calling, calling_of
from server.tools.calls import Call, parts_of
from server.tools.forms import FORMS, CallForm
from server.tools.grammar import constraint_of, refusal
from server.tools.parameters import as_written
from tests.server.tools.test_calls import events, joined
from tests.server.tools.test_grammar import VOCABULARY, calling, decoded, scripts
from tests.strategies import examples

IN_TAGS = [name for name, form in FORMS.items() if form.parameters is not None]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "any text"},
        "unit": {"type": "string", "enum": ["C", "F", "a\nb"]},
        "mark": {"type": "string", "enum": ["</arg_value>", "</parameter>"]},
        "code": {"type": "string", "pattern": "^[<>a-c]{2}$"},
        "days": {"type": "integer"},
        "more": {"$ref": "#/$defs/More"},
        "any": {},
    },
    "required": ["city", "days", "beside"],
    "$defs": {"More": {"type": "object", "properties": {"x": {"type": ["string", "null"]}}, "required": ["x"]}},
}
PLAIN = {"city": True, "unit": True, "mark": False, "code": False, "days": False, "more": False, "any": False}
NASTY = ("<", ">", "</parameter>", "</arg_value>", "<parameter=", "<arg_key>", "\n", '"', "\\", "é", "😀", " ", "a")

texts = st.lists(st.sampled_from(NASTY), max_size=6).map("".join)


def asked(form: str, schema: object = SCHEMA, choice: str = "auto") -> Calling:
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    body = {"messages": [{"role": "user", "content": "?"}], "tools": [tool], "tool_choice": choice}
    found = calling_of(ChatRequest.model_validate(body), FORMS[form])
    assert found is not None
    return found


@st.composite
def arguments(draw: st.DrawFn) -> dict[str, Any]:
    """Arguments of the schema, in its order."""
    given: dict[str, Any] = {"city": draw(texts)}
    for name, values in {
        "unit": st.sampled_from(["C", "F", "a\nb"]),
        "mark": st.sampled_from(["</arg_value>", "</parameter>"]),
        "code": st.text("<>abc", min_size=2, max_size=2),
    }.items():
        if draw(st.booleans()):
            given[name] = draw(values)
    given["days"] = draw(st.integers(-99, 99))
    if draw(st.booleans()):
        given["more"] = {"x": draw(st.none() | texts)}
    if draw(st.booleans()):
        given["any"] = draw(texts | st.lists(texts, max_size=2))
    return {**given, "beside": draw(texts)}


def written(form: CallForm, given: dict[str, Any]) -> str:
    """One call as a model writes it: plain texts as they are, all else as JSON."""
    assert form.parameters is not None
    before, between, after = form.parameters.before, form.parameters.between, form.parameters.after
    parts = []
    for name, value in given.items():
        text = value if PLAIN.get(name) else json.dumps(value, ensure_ascii=False)
        parts.append(before + name + between + text + after)
    return "f" + form.middle + "".join(parts)


def accepts(grammar: CompiledGrammar, text: str) -> bool:
    after = grammar.consume_bytes(grammar.start, text.encode())
    return after is not None and grammar.accepts(after)


def test_what_is_written_as_it_is() -> None:
    """Texts are, unless a schema says more of them, or a value would end its tag."""
    assert as_written(SCHEMA) == {**PLAIN, "beside": False}


@pytest.mark.parametrize("name", IN_TAGS)
@examples(60)
@given(first=arguments(), second=arguments(), data=st.data())
def test_what_is_written_is_read(name: str, first: dict[str, Any], second: dict[str, Any], data: st.DataObject) -> None:
    """Values come back as they were, for every way to cut the text; the grammar holds it, and the schema them."""
    form = FORMS[name]
    assert form.parameters is not None
    for given_ in (first, second):
        given_["city"] = given_["city"].replace(form.parameters.after, "")
        if form.parameters.after in given_["city"] + form.parameters.after[:-1]:
            given_["city"] = ""
    whole = form.lead + written(form, first) + form.next + written(form, second) + form.last
    found = parts_of(f"Well.\n{whole}", asked(name))
    assert found.text == "Well."
    assert [call.name for call in found.calls] == ["f", "f"]
    assert [json.loads(call.given) for call in found.calls] == [first, second]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    for cut in (pieces, list(whole)):
        assert joined(events(asked(name), cut)).calls == found.calls


@pytest.fixture(scope="module", params=IN_TAGS)
def compiled(request: pytest.FixtureRequest) -> tuple[str, CompiledGrammar]:
    return request.param, compile_grammar(constraint_of(asked(request.param, choice="required")), VOCABULARY)


@examples(30)
@given(given_=arguments())
def test_the_grammar_holds_what_is_written(compiled: tuple[str, CompiledGrammar], given_: dict[str, Any]) -> None:
    """Arguments of the schema belong, but for texts that would end their tag; none is left out that is required."""
    name, grammar = compiled
    form = FORMS[name]
    assert form.parameters is not None
    if form.parameters.after in given_["city"] + form.parameters.after[:-1]:
        given_["city"] = "x"
    assert accepts(grammar, form.lead + written(form, given_) + form.last)
    for left_out in ("city", "days", "beside"):
        fewer = {name: value for name, value in given_.items() if name != left_out}
        assert not accepts(grammar, form.lead + written(form, fewer) + form.last)


def test_answers_are_valid(compiled: tuple[str, CompiledGrammar]) -> None:
    """Whatever the model, drawn and greedy: arguments satisfy the schema by `jsonschema`, within the budget."""
    name, grammar = compiled
    for number, script in enumerate(scripts()):
        for budget in (grammar.minimum.tokens, grammar.minimum.tokens + 40):
            for temperature in (0.0, 1.0):
                parameters = Parameters(budget, temperature=temperature, seed=number, special_names=True)
                answer = decoded(grammar, script, parameters)
                assert answer.complete and answer.tokens_used <= budget
                calls = parts_of(answer.text.decode(), asked(name, choice="required")).calls
                assert calls
                for call in calls:
                    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(call.given))


@pytest.mark.parametrize("name", IN_TAGS)
def test_a_call_without_parameters(name: str) -> None:
    form = FORMS[name]
    [call] = parts_of(form.lead + "now" + form.middle + form.last, calling(name, tool_choice="required")).calls
    assert call == Call("now", "{}", False)


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"allOf": [{"required": ["x"]}]}, "/allOf"),
        ({"minProperties": 1}, "/minProperties"),
        ({"properties": {"a<b": {}}}, "/properties/a<b"),
        ({"properties": {"a/b\n": {}}}, "/properties/a~1b\n"),
        ({"properties": 3}, "/properties"),
        ({"required": [3]}, "/required"),
    ],
)
def test_what_tags_cant_keep_is_refused(changed: dict[str, Any], pointer: str) -> None:
    """The refusal names the tool and its field, points into its schema, and says what to do."""
    with pytest.raises(ApiError, match="--tool-form hermes") as caught:
        asked("qwen_coder", {"type": "object", "properties": {}, **changed})
    assert (caught.value.code, caught.value.param) == (ErrorCode.UNSUPPORTED_FEATURE, "tools.0.function.parameters")
    assert caught.value.details["pointer"] == pointer
    assert "'f'" in caught.value.message


@pytest.mark.parametrize("name", IN_TAGS)
@pytest.mark.parametrize("required", [[], ["b"]])
def test_a_bad_parameter_is_pointed_to(name: str, required: list[str]) -> None:
    """An error inside one parameter's schema has the pointer that it has in the tool's."""
    schema = {"type": "object", "properties": {"a": {}, "b": {"type": "array", "items": {"type": "no"}}}}
    found = asked(name, {**schema, "required": required})
    with pytest.raises(GrammarError) as caught:
        parse(constraint_of(found).text, tokens=UNKNOWN_TOKENIZER)
    told = refusal(caught.value, found)
    assert told.param == "tools.0.function.parameters"
    assert told.details["pointer"] == "/properties/b/items/type"


@pytest.mark.parametrize("name", IN_TAGS)
def test_what_has_no_schema_of_its_own(name: str) -> None:
    """A required parameter that isn't declared is an additional one; references lead into the whole schema."""
    form = FORMS[name]

    def judged(schema: dict[str, Any], given_: dict[str, Any]) -> bool:
        grammar = compile_grammar(constraint_of(asked(name, schema, "required")), VOCABULARY)
        return accepts(grammar, form.lead + written(form, given_) + form.last)

    beside: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a", "z"]}
    whole_numbers = {**beside, "additionalProperties": {"type": "integer"}}
    assert judged(whole_numbers, {"a": 1, "z": 2})
    assert not judged(whole_numbers, {"a": 1, "z": []})
    assert judged(beside, {"a": 1, "z": []})
    with pytest.raises(GrammarError):
        judged({**beside, "additionalProperties": False}, {})
    with pytest.raises(ApiError, match="additionalProperties is a schema"):
        judged({**beside, "additionalProperties": "no"}, {})
    tree = {**beside, "properties": {**beside["properties"], "z": {"type": "array", "items": {"$ref": "#"}}}}
    assert judged(tree, {"a": 1, "z": [{"a": 2, "z": []}]})
    assert not judged(tree, {"a": 1, "z": [{"a": 2}]})
    nested = {**beside, "properties": {"a": {"$ref": "#/properties/z"}, "z": {"minimum": "x"}}}
    with pytest.raises(GrammarError) as refused:
        judged(nested, {})
    calling_ = asked(name, nested, "required")
    assert refusal(refused.value, calling_).details["pointer"] == "/properties/z/minimum"
