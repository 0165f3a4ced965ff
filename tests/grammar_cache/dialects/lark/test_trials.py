"""The trials of the Lark front end: what they count, and that they would see a difference."""

from __future__ import annotations

import re
from typing import Any

import pytest

from server.checking.membership import Recogniser, Verdict
from tests.grammar_cache.dialects.corpus import needs_corpus
from tests.grammar_cache.dialects.lark import trials
from tests.grammar_cache.dialects.lark.trials import SkippedError, Tally, draw, main, pair, trial


@pytest.fixture
def no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "files", lambda mode: ())


@pytest.mark.usefixtures("no_files")
def test_both_modes_are_tried(capsys: pytest.CaptureFixture[str]) -> None:
    """Trials compare so many grammars of each mode, on so many texts, some of which Lark accepts; nothing differs."""
    assert main(["12", "--texts", "10", "--seed", "5"]) == 0
    printed = capsys.readouterr().out
    for mode in ("dynamic", "contextual"):
        assert f"random grammars, {mode}: 12 grammars compared" in printed
    counts = re.findall(r"texts (\d+), of which Lark accepts (\d+)", printed)
    assert [texts for texts, _ in counts] == ["120", "0"] * 2
    assert all(0 < int(accepted) < 120 for accepted in (counts[0][1], counts[2][1]))


@pytest.mark.usefixtures("no_files")
def test_a_difference_is_seen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """An automaton that takes one text too many is found out, and the text and the grammar are printed."""
    honest = Recogniser.judge

    def generous(self: Recogniser, text: bytes) -> Verdict:
        return Verdict(True, len(text)) if text == b" " else honest(self, text)

    monkeypatch.setattr(Recogniser, "judge", generous)
    assert main(["2", "--texts", "5", "--modes", "contextual"]) == 1
    assert "DIFFERENCE Lark rejects ' ': start: " in capsys.readouterr().out


def test_trials_follow_from_their_numbers() -> None:
    """Equal seeds and numbers make equal grammars and texts, another seed others."""
    tallies = [Tally(), Tally()]
    for tally in tallies:
        for number in range(3):
            trial("contextual", 1, number, 5, tally)
    assert tallies[0] == tallies[1]
    assert draw("dynamic", 1, 2)[0] == draw("dynamic", 1, 2)[0] != draw("dynamic", 2, 2)[0]


@pytest.mark.parametrize(
    ("text", "mode", "reason"),
    [
        ("start: (", "dynamic", "refused by both"),
        ("start: A\nA: /(?<=b)a/", "dynamic", "a lookbehind that depends on the text before the terminal"),
        ('start: "a" start? start?', "contextual", "its parse table has conflicts"),
        ('start: "a" | "b" | "c"', "dynamic", "more than 1 alternatives"),
    ],
)
def test_reasons_for_not_comparing(text: str, mode: Any, reason: str) -> None:
    """A trial that isn't compared has a reason that leaves names out."""
    with pytest.raises(SkippedError, match=reason):
        pair(text, mode, largest=1 if "alternatives" in reason else None)


@needs_corpus
def test_published_grammars_are_there() -> None:
    """Published grammars are those that Lark loads by either parser."""
    assert len(list(trials.files("dynamic"))) > 20
    assert len(list(trials.files("contextual"))) > 20
