"""The command `swyb`."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from server.cli import main, parse
from server.commands.generate import request_body
from server.commands.serve import address, configuration, example, settings_of
from server.protocol.reading import parse_chat

SCHEMA = {
    "type": "object",
    "properties": {"b": {"type": "string"}, "a": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, object], str]:
    """Writes a text (or JSON) to a file and names it."""

    def made(name: str, content: object) -> str:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), newline="")
        return str(path)

    return made


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tokenizer whose tokens are the 256 bytes and an end."""
    folder = tmp_path_factory.mktemp("tokenizer")
    alphabet = sorted(ByteLevel.alphabet())
    made = Tokenizer(BPE(vocab={character: at for at, character in enumerate(alphabet)}, merges=[]))
    made.pre_tokenizer = ByteLevel(add_prefix_space=False)
    made.decoder = ByteLevelDecoder()
    made.add_special_tokens(["<|end|>"])
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|end|>"}))
    return folder


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """JSON that a command printed."""
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


TAG = {
    "type": "structural_tag",
    "structures": [{"begin": "<f>", "schema": {"additionalProperties": False, "type": "object"}, "end": "</f>"}],
    "triggers": ["<f>"],
}
"""Calls in free text, as vLLM's older form of structural tags has them."""


@pytest.mark.parametrize(
    ("option", "constraint", "text", "accepted"),
    [
        ("--schema", SCHEMA, '{"b": "x", "a": 1}', True),
        ("--grammar", 'root ::= "a"+ "é"', "aaé", True),
        ("--grammar", 'start: "a" NAME\nNAME: /[a-z]+/\n%ignore " "', "a b ", True),
        ("--grammar", 'start: "a" NAME\nNAME: /[a-z]+/\n%ignore " "', "a ", False),
        ("--regex", "[ab]+c\n", "abac", True),
        ("--choice", ["yes", "no"], "no", True),
        ("--grammar", 'root ::= "a"+ "é"', "aab", False),
        ("--regex", "[ab]+c\r\n", "abac\n", False),
        ("--choice", ["yes", "no"], "", False),
        ("--structural-tag", TAG, "So: <f>{}</f> or <f>{}</f>.", True),
        ("--structural-tag", TAG, "So: <f>{</f>.", False),
    ],
)
def test_check_judges_a_text(
    *,
    write: Any,
    capsys: pytest.CaptureFixture[str],
    option: str,
    constraint: object,
    text: str,
    accepted: bool,
) -> None:
    """Each kind of constraint judges a text, and the exit status says the same."""
    status = main(["check", option, write("constraint", constraint), write("text", text)])
    assert told(capsys)["accepted"] is accepted
    assert status == (0 if accepted else 1)


def test_free_text_is_no_advice(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A call that goes wrong is told by its place; that the text would do without a call isn't told."""
    assert main(["check", "--structural-tag", write("t", TAG), write("text", "<f>[]</f>")]) == 1
    assert set(told(capsys)) == {"accepted", "leaves_at", "reason"}


def test_check_takes_the_options_of_grammars(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A start rule, a dialect and a lexer are honoured; without a grammar they are refused."""
    grammar = write("g", 'start: "a"\nother: "::=" /a+/ "a"?')
    asked = ["check", "--grammar", grammar, "--syntax", "lark", "--start", "other", "--lexer", "dynamic"]
    assert main([*asked, write("t", "::=aa")]) == 0
    assert told(capsys)["accepted"] is True
    assert main(["check", "--regex", write("r", "a"), "--start", "other", write("t", "a")]) == 1


def test_check_says_where_a_text_leaves(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The place is told in bytes, characters, line and column, with what could come instead."""
    arguments = ["check", "--grammar", write("g", 'root ::= "é\\n" ("ab" | "ac")'), write("t", "é\nax")]
    assert main(arguments) == 1
    verdict = told(capsys)
    assert verdict["leaves_at"] == {"byte": 4, "char": 3, "line": 2, "column": 2}
    assert "'b', 'c'" in verdict["reason"]


def test_check_tells_a_beginning_from_a_mistake(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A text that only ends too early leaves at its end."""
    assert main(["check", "--regex", write("r", "abc"), write("t", "ab")]) == 1
    verdict = told(capsys)
    assert verdict["leaves_at"]["byte"] == 2
    assert "too early" in verdict["reason"]


@pytest.mark.parametrize(
    ("text", "accepted", "valid", "why"),
    [
        ('{"b": "x", "a": 1}', True, True, None),
        ('{"a": 1, "b": "x"}', False, True, "order"),
        ('{"b":   "x"  ,      "a": 1}', False, True, "white space"),
        ('{"b": "x"}', False, False, None),
        ('{"b": "x", "a": "1"}', False, False, None),
        ('{"b": "x", "a": 1', False, False, None),
        ("[1", False, False, None),
        (f'{{"b": "x", "a": {"7" * 900}}}', False, True, "subset"),
    ],
)
def test_check_tells_valid_from_generated(
    *, write: Any, capsys: pytest.CaptureFixture[str], text: str, accepted: bool, valid: bool, why: str | None
) -> None:
    """The reference validator decides for a schema, and a valid text that is not generated is explained."""
    status = main(["check", "--schema", write("s", SCHEMA), write("t", text)])
    verdict = told(capsys)
    assert (verdict["accepted"], verdict["valid"], status) == (accepted, valid, 0 if valid else 1)
    assert ("invalid_because" in verdict) is not valid
    assert why in verdict["not_generated"] if why else "not_generated" not in verdict


def test_check_uses_the_formats_of_the_draft(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A time with an offset is valid as the newer drafts have it; draft 3 meant another thing by the name."""
    text = '"10:20:30Z"'
    assert main(["check", "--schema", write("s", {"format": "time", "type": "string"}), write("t", text)]) == 0
    verdict = told(capsys)
    assert (verdict["accepted"], verdict["valid"]) == (True, True)


def test_check_names_formats_that_it_does_not_judge(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The reference validator passes over a format that it doesn't know; a known one is judged."""
    schema = {"anyOf": [{"format": "date"}, {"format": "x-colour"}]}
    assert main(["check", "--lenient", "--schema", write("s", schema), write("t", '"2024-02-30"')]) == 0
    assert told(capsys)["formats_not_judged"] == ["x-colour"]
    assert main(["check", "--schema", write("s", {"format": "date"}), write("t", '"2024-02-30"')]) == 1
    assert told(capsys)["valid"] is False


def test_check_shows_what_is_generated_instead(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Names that are only required come after the properties; a text of the same value is shown."""
    schema = {"required": ["c", "a"], "properties": {"b": {}, "a": {}}, "type": "object"}
    arguments = ["check", "--schema", write("s", schema), write("t", '{"c": 1, "b": 2, "a": 3}\n')]
    assert main(arguments) == 0
    verdict = told(capsys)
    assert verdict["generated_instead"] == '{ "b": 2, "a": 3,"c": 1}'
    assert verdict["not_generated"] == (
        "the same value is generated, with another order of its members and end: nothing follows the value"
    )


def test_check_shows_a_small_change(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the kind of the constraint; where no small change helps, nothing is said of one."""
    for option, text in (("--grammar", 'root ::= "yes"'), ("--grammar", 'start: "yes"'), ("--choice", '["yes"]')):
        assert main(["check", option, write("g", text), write("t", "yes\r\n")]) == 1
        verdict = told(capsys)
        assert verdict["generated_instead"] == "yes"
        assert verdict["not_generated"] == "it is accepted without the line break at its end"
        assert main(["check", option, write("g", text), write("t", "no")]) == 1
        assert "not_generated" not in told(capsys)


def test_check_reads_the_standard_input(
    write: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hyphen stands for the standard input, bytes as they are."""
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"a\xff")))
    assert main(["check", "--regex", write("r", "a."), "-"]) == 1
    assert told(capsys)["leaves_at"]["byte"] == 1


@pytest.mark.parametrize(
    ("schema", "text", "code"),
    [("{", "1", "invalid_grammar"), ("true", "[" * 5000 + "]" * 5000, "body_nesting_exceeded")],
)
def test_check_can_be_unable_to_judge(
    write: Any, capsys: pytest.CaptureFixture[str], schema: str, text: str, code: str
) -> None:
    """A constraint that is refused, or a text too deep to validate, is neither yes nor no."""
    assert main(["check", "--schema", write("s", schema), write("t", text)]) == 2
    assert told(capsys)["error"]["code"] == code


def test_certify_says_what_is_needed(write: Any, tokenizer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The certificate has the minimum, a shortest text, the sizes and what is not enforced."""
    schema = write("s", {**SCHEMA, "x-note": 1})
    assert main(["certify", "--schema", schema, "--model", str(tokenizer)]) == 0
    certificate = told(capsys)
    jsonschema.validate(json.loads(certificate["witness"]), SCHEMA)
    # One token is one byte here, and this is the shortest spelling.
    assert certificate["min_tokens"] == len(certificate["witness"]) == len('{"b":"","a":0}')
    assert certificate["exact"] is True
    assert certificate["size"]["states"] > 0
    assert certificate["compile_ms"] > 0
    assert any("x-note" in entry for entry in certificate["ignored"])


def test_certify_refuses_in_json(write: Any, tokenizer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A refusal says its code and where, and the exit status is 1."""
    schema = write("s", {"properties": {"x": {"type": "strin"}}})
    assert main(["certify", "--schema", schema, "--model", str(tokenizer)]) == 1
    error = told(capsys)["error"]
    assert (error["code"], error["pointer"]) == ("invalid_grammar", "/properties/x/type")


@pytest.mark.parametrize(
    "arguments",
    [
        ["certify"],
        ["certify", "--schema", "a", "--grammar", "b"],
        ["check", "--schema", "a"],
        ["serve", "--port", "65536"],
        ["serve", "--max-tokens", "0"],
        [],
        ["other"],
    ],
)
def test_wrong_usage_is_told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A command line that makes no sense ends with status 2 and one line, which says where there is help."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert ": error: " in line
    assert "--help" in line


def test_a_missing_file_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A file that isn't there is one line, not a traceback."""
    assert main(["check", "--schema", str(tmp_path / "none"), "-"]) == 1
    assert capsys.readouterr().err == f"swyb check: error: {tmp_path / 'none'}: No such file or directory\n"


def test_settings_come_from_options_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key may come from the environment, where other users can't read it; an option wins."""
    monkeypatch.setenv("SWYB_API_KEY", "from the environment")
    quiet = settings_of(configuration(parse(["serve", "--port", "0", "--max-tokens", "7"])), "transformers")
    loud = settings_of(configuration(parse(["serve", "--api-key", "given"])), "transformers")
    assert (quiet.api_key, quiet.port, quiet.default_max_tokens) == ("from the environment", 0, 7)
    assert loud.api_key == "given"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("example.org", "http://example.org:80"),
    ],
)
def test_the_address_can_be_reached(host: str, expected: str) -> None:
    """The printed address can be opened on this machine."""
    assert address(host, 80) == expected


def test_the_example_is_a_request_of_this_server() -> None:
    """The curl line to try survives a shell and asks for what the server accepts."""
    words = shlex.split(example("http://127.0.0.1:80", "it's", keyed=True))
    assert words[:2] == ["curl", "http://127.0.0.1:80/v1/chat/completions"]
    assert "Authorization: Bearer $SWYB_API_KEY" in words
    chat = parse_chat(json.loads(words[words.index("-d") + 1]))
    assert (chat.model, chat.max_tokens) == ("it's", 32)


def test_first_outputs_are_greedy_and_name_their_fields() -> None:
    """The curl line, and `swyb generate` unless it is told otherwise: the next run prints the same."""
    words = shlex.split(example("http://127.0.0.1:80", "model", keyed=False))
    body = json.loads(words[words.index("-d") + 1])
    assert body["temperature"] == 0
    fields = body["response_format"]["json_schema"]["schema"]["required"]
    assert all(field in body["messages"][-1]["content"] for field in fields)
    for options, temperature in (([], 0), (["--temperature", "0.7"], 0.7)):
        assert request_body(parse(["generate", "hello", *options]), None)["temperature"] == temperature
