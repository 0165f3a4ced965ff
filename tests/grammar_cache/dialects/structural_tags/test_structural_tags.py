"""Structural tags, against a matcher that searches texts; and the forms, refusals and tokens of several servers."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from grammar_cache import CompiledGrammar, Constraint, GrammarError, UnsupportedFeature, Vocabulary, compile_grammar
from grammar_cache.errors import EmptyLanguage, LimitExceeded
from tests.grammar_cache.dialects.structural_tags.matcher import Format, accepts
from tests.strategies import examples

PIECES = ["<f=", "a>", "b>", "</f>", "<g>", "</g>", ",", '{"n":1}', '{"n":"a"}', "12", "a", "<", "f", "é"]
LETTERS = sorted({char.encode()[at : at + 1] for piece in PIECES for char in piece for at in range(len(char.encode()))})
TAGS = {60: "<f=a>", 61: "</f>"}
WORDS = [*LETTERS, *(piece.encode() for piece in PIECES if len(piece) > 1)]
VOCABULARY = Vocabulary([*WORDS, *[None] * 40], [62], TAGS, {62: "<|end|>", 63: "<|x|>"})
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


COUNTS = ["optional", "star", "plus"]
SEPARATED = {"type": "tags_with_separator", "separator": ","}
TWELVE = {"type": "const_string", "value": "12"}


def contents() -> st.SearchStrategy[Format]:
    return st.sampled_from(
        [
            {"type": "json_schema", "json_schema": SCHEMA},
            {"type": "regex", "pattern": "[a-f]*12"},
            {"type": "const_string", "value": "a"},
            {"type": "any_text"},
            {"type": "any_text", "excludes": ["12", "a,"]},
            {"type": "any_text", "max_chars": 3},
        ]
    )


def tags(content: st.SearchStrategy[Format]) -> st.SearchStrategy[list[Format]]:
    one = st.builds(
        lambda begin, inner, end: {"type": "tag", "begin": begin, "content": inner, "end": end},
        st.sampled_from(["<f=a>", "<f=b>", "<g>"]),
        content,
        st.sampled_from(["</f>", ["</g>", "</f>"], "</g>"]),
    )
    return st.lists(one, min_size=1, max_size=2)


def formats() -> st.SearchStrategy[Format]:
    """Random formats of every kind that needs no tokens."""
    return st.recursive(contents(), _wider, max_leaves=4)


def _wider(inner: st.SearchStrategy[Format]) -> st.SearchStrategy[Format]:
    flags = st.fixed_dictionaries({"at_least_one": st.booleans(), "stop_after_first": st.booleans()})
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.builds(lambda elements: {"type": "sequence", "elements": elements}, several),
        st.builds(lambda elements: {"type": "or", "elements": elements}, several),
        st.builds(lambda kind, item: {"type": kind, "content": item}, st.sampled_from(COUNTS), inner),
        st.builds(lambda n, item: {"type": "repeat", "min": 1, "max": n, "content": item}, st.integers(1, 3), inner),
        tags(inner).map(lambda found: found[0]),
        st.builds(lambda own, how: {**SEPARATED, "tags": own, **how}, tags(inner), flags),
        st.builds(
            lambda own, how, excludes: {
                "type": "triggered_tags", "triggers": ["<f=", "<g"], "tags": own, "excludes": excludes, **how
            },
            tags(inner),
            flags,
            st.sampled_from([[], ["12"], [">,", "é"]]),
        ),
        st.builds(
            lambda item, loop: {"type": "dispatch", "rules": [["<f=", item], ["a>", TWELVE]], "loop": loop},
            inner,
            st.booleans(),
        ),
    )  # fmt: skip


def compiled(format: Format, vocabulary: Vocabulary = VOCABULARY) -> CompiledGrammar:
    text = json.dumps({"type": "structural_tag", "format": format})
    return compile_grammar(Constraint("structural_tag", text, whitespace="compact"), vocabulary)


def judged(grammar: CompiledGrammar, text: str) -> bool:
    after = grammar.consume_bytes(grammar.start, text.encode())
    return after is not None and grammar.accepts(after)


def written(format: Format, random: Random) -> str:
    """A text of a format, mostly: free text may happen to hold what it may not."""
    loose = "".join(random.choices(PIECES, k=random.randrange(3)))
    match format["type"]:
        case "json_schema":
            return json.dumps({"n": random.randrange(30)}, separators=(",", ":"))
        case "regex":
            return random.choice(["12", "abc12", "f12"])
        case "const_string":
            return str(format["value"])
        case "any_text":
            return loose
        case "sequence":
            return "".join(written(element, random) for element in format["elements"])
        case "or":
            return written(random.choice(format["elements"]), random)
        case "optional" | "star" | "plus" | "repeat":
            return "".join(written(format["content"], random) for _ in range(random.randrange(3)))
        case "tag":
            end = format["end"] if isinstance(format["end"], str) else random.choice(format["end"])
            return str(format["begin"]) + written(format["content"], random) + end
        case "tags_with_separator":
            return ",".join(written(random.choice(format["tags"]), random) for _ in range(random.randrange(3)))
        case "triggered_tags":
            return loose + "".join(
                written(random.choice(format["tags"]), random) + loose for _ in range(random.randrange(3))
            )
        case _:
            pattern, content = random.choice(format["rules"])
            return loose + str(pattern) + written(content, random)


@given(formats(), st.randoms(use_true_random=False))
@examples(60)
def test_texts_are_those_of_the_matcher(format: Format, random: Random) -> None:
    """Random texts, and texts that are made to fit, belong to the grammar exactly if the matcher finds so."""
    grammar = _or_none(format)
    if grammar is None:
        return
    texts = ["".join(random.choices(PIECES, k=random.randrange(7))) for _ in range(25)]
    made = [written(format, random) for _ in range(25)]
    texts += made + [text[:-1] for text in made] + [text + "a" for text in made]
    for text in texts:
        assert judged(grammar, text) is accepts(format, text), text


@given(formats(), st.integers(0, 6), st.randoms(use_true_random=False))
@examples(60)
def test_answers_fit_their_budgets(format: Format, more: int, random: Random) -> None:
    """Random choices among what the mask allows end within the budget, in a text that the matcher finds right."""
    grammar = _or_none(format)
    if grammar is None:
        return
    left = grammar.minimum.tokens + more
    configuration, tokens = grammar.start, []
    while left:
        allowed = [token for token in grammar.mask(configuration, left).nonzero()[0].tolist() if token != 62]
        if not allowed:
            break
        tokens.append(random.choice(allowed))
        configuration = grammar.take(configuration, tokens[-1])
        left -= 1
    text = grammar.vocabulary.text(tokens)
    assert accepts(format, text.decode()), text


def _or_none(format: Format) -> CompiledGrammar | None:
    """The grammar; None where one text that free text leaves alone holds another, which is refused."""
    try:
        return compiled(format)
    except UnsupportedFeature as error:
        if "holds another one" in error.message or "starts something" in error.message:
            return None
        raise


CALL: dict[str, Any] = {
    "type": "triggered_tags",
    "triggers": ["<tool_call>"],
    "tags": [
        {
            "type": "tag",
            "begin": '<tool_call>{"name":"f","arguments":',
            "content": {"type": "json_schema", "json_schema": SCHEMA},
            "end": "}</tool_call>",
        }
    ],
}
TOOLS = Vocabulary(
    [*(bytes([byte]) for byte in range(0x20, 0x7F)), b'{"name":"', b'","arguments":', b"</", b"tool_call", *[None] * 4],
    [102],
    {99: "<tool_call>", 100: "</tool_call>", 101: "<think>"},
    {102: "<|end|>"},
)  # fmt: skip


def encoded(text: str) -> list[int]:
    """Tokens of a text, names of special tokens first, as tokenizers have it."""
    for token, name in TOOLS.markers.items():
        if name in text:
            before, _, behind = text.partition(name)
            return [*encoded(before), token, *encoded(behind)]
    return [ord(char) - 0x20 for char in text]


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("", True),
        ("no call", True),
        ('hm<tool_call>{"name":"f","arguments":{"n":1}}</tool_call>', True),
        ('hm<tool_call>{"name":"f","arguments":{"n":1}}</tool_call> and <think>', True),
        ("<tool_call>", False),
        ('<tool_call>{"name":"g"', False),
        ('<tool_call>{"name":"f","arguments":{"n":"1"}}</tool_call>', False),
        ('</tool_call><tool_call>{"name":"f","arguments":{"n":1}}</tool_call>', True),
    ],
)
def test_calls_in_characters_and_in_tokens(text: str, accepted: bool) -> None:
    """A tag may be written in its tokens or in their characters: both start a call, and both end it."""
    grammar = compiled(CALL, TOOLS)
    for tokens in (encoded(text), [ord(char) - 0x20 for char in text]):
        configuration = grammar.start
        for token in tokens:
            configuration = grammar.take(configuration, token) if configuration >= 0 else configuration
        assert (configuration >= 0 and grammar.accepts(configuration)) is accepted
        assert accepts(CALL, text) is accepted
    assert TOOLS.text(encoded(text)) == text.encode()


def test_a_call_once_begun_fits() -> None:
    """Free text takes no token, and a call may begin only where it can be completed."""
    grammar = compiled(CALL, TOOLS)
    assert grammar.minimum.tokens == 0
    forced = compiled({**CALL, "at_least_one": True, "stop_after_first": True}, TOOLS)
    need = forced.minimum.tokens
    assert grammar.mask(grammar.start, need)[99]
    assert not grammar.mask(grammar.start, need - 1)[99]
    assert accepts(CALL, TOOLS.text(forced.witness(forced.start)).decode())


def test_names_that_reach_beyond_a_trigger() -> None:
    """A token whose name holds a trigger and more is read as its characters are."""
    format: Format = {**CALL, "triggers": ["<tool"]}
    grammar = compiled(format, TOOLS)
    for text, accepted in (
        ('a<tool_call>{"name":"f","arguments":{"n":1}}</tool_call>', True),
        ("a<tool_call>", False),
        ("a<tool", False),
    ):
        configuration = grammar.start
        for token in encoded(text):
            configuration = grammar.take(configuration, token) if configuration >= 0 else configuration
        assert (configuration >= 0 and grammar.accepts(configuration)) is accepted


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


def test_special_tokens_as_formats() -> None:
    """Formats about tokens match tokens and no text; what ends a tag is no part of it."""
    thought = {"type": "tag", "begin": {"type": "token", "token": "<think>"}, "content": {"type": "any_tokens"},
               "end": {"type": "token", "token": 100}}  # fmt: skip
    triggered = {
        "type": "token_triggered_tags", "trigger_tokens": ["<tool_call>"], "at_least_one": True,
        "exclude_tokens": [102],
        "tags": [{"begin": {"type": "token", "token": 99}, "content": {"type": "regex", "pattern": "a+"}, "end": "b"}],
    }  # fmt: skip
    grammar = compiled({"type": "sequence", "elements": [thought, triggered]}, TOOLS)
    assert grammar.minimum.tokens == 5
    for tokens, accepted in (
        ([101, 5, 99, 101, 100, 99, 65, 66], True),
        ([101, 100, 99, 65, 66, 7, 101, 99, 65, 66], True),
        ([101, 100, 65, 66], False),
        ([*encoded("<thin"), 100], False),
    ):
        configuration = grammar.start
        for token in tokens:
            configuration = grammar.take(configuration, token) if configuration >= 0 else configuration
        assert (configuration >= 0 and grammar.accepts(configuration)) is accepted


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


@pytest.mark.parametrize(
    ("format", "pointer", "message"),
    [
        ({"type": "any_text", "max_tokens": 5}, "/format/max_tokens", "max_tokens"),
        ({"type": "any_text", "new": 1}, "/format/new", "no member new"),
        ({"type": "anything"}, "/format/type", "a format of type anything"),
        ({"type": "exclude_token"}, "/format", "any_tokens is"),
        ({"type": "token", "token": "<f=b>"}, "/format", "near it: <f=a>"),
        ({"type": "tag", "begin": "a", "content": {"type": "any_text"}, "end": "<|end|>"}, "/format", "ends an answer"),
        ({"type": "json_schema", "json_schema": SCHEMA, "style": "kimi_k3_xml"}, "/format/style", "kimi_k3_xml"),
        ({"type": "json_schema", "json_schema": SCHEMA, "excludes": ["a"]}, "/format/excludes", "excludes"),
        ({"type": "json_schema", "json_schema": {"$ref": "x:y"}}, "/format/json_schema/$ref", "x:y"),
        ({"type": "grammar", "grammar": "root ::= a"}, "/format/grammar", "line 1, column 10"),
        ({"type": "regex", "pattern": "("}, "/format/pattern", "group is not closed"),
        ({"type": "sequence", "elements": []}, "/format/elements", "not empty"),
        ({"type": "const_string"}, "/format/value", "value"),
        ({"type": "repeat", "min": 3, "max": 2, "content": {"type": "any_text"}}, "/format/max", "below"),
        ({**CALL, "triggers": ["<g"]}, "/format/tags/0/begin", "none"),
        ({**CALL, "triggers": ["<t", "<tool"]}, "/format/tags/0/begin", "several"),
        ({**CALL, "excludes": [""]}, "/format/excludes", "everywhere"),
    ],
)  # fmt: skip
def test_refusals(format: Format, pointer: str, message: str) -> None:
    """A format that can't be enforced is refused by name, with a JSON Pointer to it."""
    with pytest.raises(GrammarError, match=message) as refusal:
        compiled(format)
    assert refusal.value.pointer == pointer


def test_attacks_meet_a_limit() -> None:
    """Formats inside each other, and tags by the thousand, are refused by the limit that they meet."""
    deep: Format = {"type": "any_text"}
    for _ in range(300):
        deep = {"type": "optional", "content": deep}
    many = {"type": "dispatch", "rules": [[f"<{n:05}>", {"type": "any_text"}] for n in range(20_000)]}
    for format in (deep, many):
        with pytest.raises(LimitExceeded):
            compiled(format)


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
