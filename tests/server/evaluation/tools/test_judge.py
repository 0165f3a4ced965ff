"""The judge of calls, and the reading of texts that nothing constrains."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.evaluation.tools import judge as judging
from server.evaluation.tools.judge import ToolJudge
from server.evaluation.tools.streaming import reads_alike
from server.evaluation.tools.written import WrittenCall, as_text, written_calls
from server.protocol.chat import ChatRequest
from server.tools.calling import Calling, calling_of
from server.tools.calls import parts_of
from server.tools.forms import FORMS, CallForm

FUNCTION: dict[str, Any] = {
    "name": "go",
    "parameters": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
}
CALL = '<tool_call>\n{"name": "go", "arguments": {"to": "Rome"}}\n</tool_call>'
ROME, OSLO = WrittenCall("go", {"to": "Rome"}), WrittenCall("go", {"to": "Oslo"})


def calling(form: CallForm = FORMS["hermes"]) -> Calling:
    asked = {"messages": [{"role": "user", "content": "?"}], "tools": [{"type": "function", "function": FUNCTION}]}
    found = calling_of(ChatRequest.model_validate(asked), form)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (CALL, [ROME]),
        (f"I go.\n{CALL}\n{CALL.replace('Rome', 'Oslo')}", [ROME, OSLO]),
        (CALL.replace("\n", " ").replace(": ", ":"), [ROME]),
        (CALL.removesuffix("</tool_call>"), [ROME]),
        (CALL.replace("arguments", "parameters"), [ROME]),
        ('<tool_call>[{"name": "go", "arguments": {"to": "Rome"}}]</tool_call>', [ROME]),
        ('```json\n{"name": "go", "arguments": {"to": "Rome"}}\n```', [ROME]),
        ('[1, {"to": 2}] {"a": {"name": "go", "arguments": {"to": "Rome"}}', [ROME]),
        ("No tool is {needed}.", []),
        ("", []),
    ],
)
def test_texts_are_read_leniently(text: str, calls: list[WrittenCall]) -> None:
    assert written_calls(text, "<tool_call>") == calls


@pytest.mark.parametrize(
    "text",
    [
        CALL[:40],
        "<tool_call>",
        f"{CALL}\n<tool_call>\n",
        CALL.replace('"Rome"', "NaN"),
        '<tool_call>{"go": {"to": "Rome"}}</tool_call>',
        "<tool_call>" + "[" * 100_000,
    ],
)
def test_what_is_cut_or_malformed_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        written_calls(text, "<tool_call>")


@pytest.mark.parametrize("name", ["hermes", "llama", "mistral", "mistral_spaced", "python_tag"])
def test_forms_of_json_are_read(name: str) -> None:
    """Texts in each form whose calls are JSON objects are read back, braces and marks in arguments too."""
    given = {"to": 'a } " ] \\ <x> [1, 2]'}
    form = FORMS[name]
    times = 2 if form.parallel else 1
    text = as_text([("go", json.dumps(given))] * times, form)
    assert written_calls(text, form.trigger) == [WrittenCall("go", given)] * times


@pytest.mark.parametrize(
    ("text", "syntax", "valid", "correct"),
    [
        (CALL, True, True, True),
        (CALL.replace("Rome", "ROME."), True, True, True),
        (CALL.replace("Rome", "Oslo"), True, True, False),
        (f"{CALL}\n{CALL}", True, True, False),
        (CALL.replace("go", "run"), True, False, False),
        (CALL.replace('"Rome"', "1"), True, False, False),
        ("Rome.", True, False, False),
        (CALL[:-20], False, False, False),
    ],
)
def test_verdicts(text: str, syntax: bool, valid: bool, correct: bool) -> None:
    found = ToolJudge([FUNCTION], [{"go": {"to": ["Rome"]}}], calling())(text)
    assert (found.syntax, found.valid, found.correct) == (syntax, valid, correct)
    assert bool(found.detail) is not valid


def test_the_servers_reader_is_judged_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer whose calls the server reads otherwise, whole or in pieces, is not valid."""
    judge = ToolJudge([FUNCTION], [{"go": {"to": ["Rome"]}}], calling())
    with monkeypatch.context() as patched:
        patched.setattr(judging, "reads_alike", lambda text, calling: False)
        assert judge(CALL).detail == "streamed calls differ from whole ones"
    monkeypatch.setattr(judging, "parts_of", lambda text, calling: parts_of(text.replace("Rome", "Oslo"), calling))
    assert judge(CALL).detail == "the server reads other calls"


def test_pieces_are_read_as_the_whole() -> None:
    assert reads_alike(f"Well {CALL}\n{CALL}", calling())
