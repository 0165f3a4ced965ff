"""`swyb why`: what it prints, and its exit statuses."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from server.cli import main
from tests.cached import model_folder

MODEL = ["--model", str(model_folder())]
DATE = ["why", "--shipped", "iso_date", *MODEL, "--after"]


def told(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> tuple[int, dict[str, Any], str]:
    """The exit status, the JSON that was printed, and what was said beside it."""
    status = main(arguments)
    printed = capsys.readouterr()
    return status, json.loads(printed.out or "{}"), printed.err


def test_a_token_may_follow_or_not(capsys: pytest.CaptureFixture[str]) -> None:
    """Status 0 and 1, with the reason and what could come instead."""
    status, found, _ = told(capsys, [*DATE, "2026-0", "--token", "1"])
    assert (status, found["allowed"], found["reason"]) == (0, True, None)
    status, found, _ = told(capsys, [*DATE, "2026-", "--token", "7"])
    assert (status, found["reason"], found["next"]) == (1, "grammar", ["0", "1"])
    status, found, _ = told(capsys, [*DATE, "2026-", "--token", "1", "--tokens-left", "4"])
    assert (status, found["reason"]) == (1, "budget")
    assert found["message"] == "fits the grammar, needs 5 tokens, 4 are left"
    status, found, _ = told(capsys, [*DATE, "2026-12-24", "--token", "<|im_end|>"])
    assert (status, found["message"]) == (0, "the text is complete and may end")


def test_what_nobody_can_say_has_a_status_of_its_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Status 2 for a text that no answer begins with, for no token, and for a grammar that is refused."""
    status, _, said = told(capsys, [*DATE, "20x", "--token", "1"])
    assert (status, said.splitlines()[-1]) == (
        2,
        'swyb why: error: prefix: the grammar forbids "x" after "20": next could be "0–9"',
    )
    status, _, said = told(capsys, [*DATE, "", "--token-id", "999999999"])
    assert (status, "the model's tokens have the ids 0 to" in said) == (2, True)
    (tmp_path / "g").write_text("root ::= lost")
    status, found, _ = told(capsys, ["why", "--grammar", str(tmp_path / "g"), *MODEL, "--token", "x"])
    assert (status, found["error"]["code"]) == (2, "invalid_grammar")


def test_examples_of_its_help_are_answered(capsys: pytest.CaptureFixture[str]) -> None:
    """Status 1 of each: a token that may not follow, and no mistake of ours."""
    with pytest.raises(SystemExit):
        main(["why", "--help"])
    shown = re.findall("^  swyb (why .*)$", capsys.readouterr().out, re.MULTILINE)
    assert shown
    for line in shown:
        status, found, _ = told(capsys, [*shlex.split(line), *MODEL])
        assert (status, found["reason"]) == (1, "grammar")
