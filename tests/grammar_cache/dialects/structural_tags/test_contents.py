"""Forms of structural tags and what stands between them: schemas, grammars, parameters in styles of models."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from grammar_cache import Constraint, Vocabulary, compile_grammar
from grammar_cache.errors import EmptyLanguage
from tests.grammar_cache.dialects.structural_tags.formats import SCHEMA, VOCABULARY, compiled, judged


def test_the_older_form_means_the_same() -> None:
    """Structures with triggers, as vLLM and SGLang have sent them, are triggered tags."""
    for schema in (SCHEMA, json.dumps(SCHEMA)):
        structure = {"begin": "<f=a>", "schema": schema, "end": "</f>"}
        older = {"type": "structural_tag", "structures": [structure], "triggers": ["<f="]}
        grammar = compile_grammar(Constraint("structural_tag", json.dumps(older), whitespace="compact"), VOCABULARY)
        for text, accepted in (('a<f=a>{"n":1}</f>12', True), ("<f=", False), ("", True), ('<f=a>{"n":""}</f>', False)):
            assert judged(grammar, text) is accepted


def test_lexed_lark_between_tags() -> None:
    """A Lark grammar whose terminals are greedy keeps its meaning between tags."""
    inner = {"type": "grammar", "grammar": 'start: A+ "b"\nA: /a+(?!f)/\n%ignore ","'}
    grammar = compiled({"type": "tag", "begin": "<f=", "content": inner, "end": "</f>"})
    for text, accepted in (("<f=aab</f>", True), ("<f=a,,ab,</f>", True), ("<f=b</f>", False), ("<f=aaf</f>", False)):
        assert judged(grammar, text) is accepted


def test_equal_names_of_rules_are_told_apart() -> None:
    """Grammars that have rules of one name keep their own."""
    grammar = compiled(
        {
            "type": "sequence",
            "elements": [
                {"type": "grammar", "grammar": 'root ::= x "," x\nx ::= "a" x | "a"'},
                {"type": "grammar", "grammar": 'root ::= x\nx ::= "f" x | "12"'},
            ],
        }
    )
    assert judged(grammar, "aa,affff12")
    assert not judged(grammar, "aa,ff12a")
    assert not judged(grammar, "f,a12")
    with pytest.raises(EmptyLanguage):
        compiled({"type": "json_schema", "json_schema": False})
    assert Draft202012Validator(SCHEMA).is_valid({"n": 1})


def test_members_of_one_name_have_the_rules_of_their_own_schema() -> None:
    """Schemas whose members have equal names and other arrays or objects beneath keep their own."""
    inner = (
        {"type": "array", "items": {"type": "integer"}},
        {"type": "array", "items": {"type": "null"}},
        {"type": "object"},
    )
    tags = [
        {"type": "tag", "begin": f"<{at}", "content": {"type": "json_schema", "json_schema": schema}, "end": ">"}
        for at, one in enumerate(inner)
        for schema in [{"type": "object", "properties": {"n": one}, "required": ["n"], "additionalProperties": False}]
    ]
    grammar = compiled({"type": "or", "elements": tags})
    for text, right in (('{"n":[1]}', 0), ('{"n":[null]}', 1), ('{"n":{}}', 2)):
        assert [judged(grammar, f"<{at}{text}>") for at in range(3)] == [at == right for at in range(3)]


XML = {
    "type": "object",
    "properties": {"s": {"type": "string"}, "n": {"type": "integer"}, "o": {"$ref": "#/$defs/o"}},
    "required": ["s", "o"],
    "$defs": {"o": SCHEMA},
}


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ('<parameter=s>a "<b</parameter><parameter=o>{"n":1}</parameter>', True),
        ('<parameter=s></parameter>\n<parameter=n>\n12\n</parameter><parameter=o>{"n":1}</parameter>\n', True),
        ('<parameter=o>{"n":1}</parameter>', False),
        ('<parameter=s></parameter><parameter=n>a</parameter><parameter=o>{"n":1}</parameter>', False),
        ('<parameter=s></parameter></parameter><parameter=o>{"n":1}</parameter>', False),
    ],
)
def test_parameters_as_tags(text: str, accepted: bool) -> None:
    """Parameters in Qwen's style: texts as they are, other values as JSON, in the order of the schema."""
    vocabulary = Vocabulary([bytes([byte]) for byte in (10, *range(0x20, 0x7F))], [99])
    for format in (
        {"type": "json_schema", "style": "qwen_xml", "json_schema": XML},
        {"type": "qwen_xml_parameter", "json_schema": XML},
    ):
        assert judged(compiled(format, vocabulary), text) is accepted


def test_references_of_parameters_lead_where_they_do_in_the_schema() -> None:
    """A reference to the whole schema in a parameter is one to all parameters, and to another one is one to that."""
    kid = {"type": "object", "properties": {"of": {"$ref": "#"}, "n": {"$ref": "#/properties/n"}}}
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "kid": kid}, "required": ["n"]}
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)], [300])
    for style in ("json", "qwen_xml"):
        grammar = compiled({"type": "json_schema", "style": style, "json_schema": schema}, vocabulary)
        for value, valid in {
            '{"of":{"n":1,"kid":{}},"n":2}': True,
            '{"of":{"kid":{}}}': False,
            '{"of":{"n":"a"}}': False,
            '{"n":"a"}': False,
        }.items():
            tags = f"<parameter=n>1</parameter><parameter=kid>{value}</parameter>"
            assert judged(grammar, f'{{"n":1,"kid":{value}}}' if style == "json" else tags) is valid, value


def test_one_text_beside_several() -> None:
    """A text that is the only one, and isn't listed, is none."""
    nothing = {"type": "object", "properties": {"s": {"type": "string", "const": "a", "enum": ["b"]}}}
    grammar = compiled({"type": "json_schema", "style": "qwen_xml", "json_schema": nothing})
    assert judged(grammar, "")
    assert not judged(grammar, "<parameter=s>a</parameter>")


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("minimax_xml", '<parameter name="s">a</parameter><parameter name="n">1</parameter>'),
        ("glm_xml", "<arg_key>s</arg_key>\n<arg_value>a</arg_value><arg_key>n</arg_key>\n<arg_value>1</arg_value>"),
        (
            "deepseek_xml",
            '<｜DSML｜parameter name="s" string="true">a</｜DSML｜parameter>'
            '<｜DSML｜parameter name="n" string="false">1</｜DSML｜parameter>',
        ),
        (
            "deepseek_v4_1_xml",
            '<｜DSML｜ parameter name="s" string="true">a</｜DSML｜ parameter>'
            '<｜DSML｜ parameter name="n" string="false">1</｜DSML｜ parameter>',
        ),
    ],
)
def test_styles_of_parameters(style: str, text: str) -> None:
    """Parameters in the style of each model, text told from JSON where a style does so."""
    both = {"type": "object", "properties": {"s": {"type": "string"}, "n": {"type": "integer"}}, "required": ["s", "n"]}
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)], [300])
    grammar = compiled({"type": "json_schema", "style": style, "json_schema": both}, vocabulary)
    assert judged(grammar, text)
    assert judged(grammar, text.replace(">a<", ">1<"))
    assert not judged(grammar, text.replace(">1<", ">a<"))
