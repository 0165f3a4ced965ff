"""The command `swyb check`: verdicts on texts, and what is said of those that aren't accepted."""

from __future__ import annotations

import json
import re
import sys
from io import BytesIO, TextIOWrapper
from typing import Any

import pytest

from server.cli import main
from tests.server.commands.test_cli import SCHEMA, told, write

__all__ = ["write"]

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
    assert main(["check", "--regex", write("r", "a"), "--start", "other", write("t", "a")]) == 2


@pytest.mark.parametrize("option", [["--lenient"], ["--whitespace", "any"]])
def test_options_of_json_are_refused_without_it(
    write: Any, capsys: pytest.CaptureFixture[str], option: list[str]
) -> None:
    """Options of schemas are honoured for schemas and structural tags, and refused where they would be ignored."""
    text, tag = write("t", '"a"'), {"type": "json_schema", "json_schema": {"const": "a"}}
    assert main(["check", *option, "--schema", write("s", '{"const": "a"}'), text]) == 0
    assert main(["check", *option, "--structural-tag", write("tag", json.dumps({"format": tag})), text]) == 0
    capsys.readouterr()
    others = [("--regex", ".*"), ("--choice", json.dumps(['"a"'])), ("--grammar", 'root ::= "a"')]
    for other in [*([name, write("other", content)] for name, content in others), ["--shipped", "json"]]:
        assert main(["check", *option, *other, text]) == 2
        message = f"{option[0]} is about JSON, by a schema or a structural tag, and there is none"
        assert capsys.readouterr().err == f"swyb check: error: {message}\n"


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


@pytest.mark.parametrize("command", ["check", "why"])
def test_the_help_tells_the_statuses(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert re.search(r"Ends\s+with 0 .*with 1 .*with 2 ", capsys.readouterr().out, re.DOTALL)
