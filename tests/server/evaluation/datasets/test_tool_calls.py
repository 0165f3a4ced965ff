"""Tasks of tools: our samples, and the real set where it is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from grammar_cache import Vocabulary, compile_grammar
from server.backends.loop import EngineLoop
from server.evaluation.datasets import tool_calls
from server.evaluation.datasets.samples import samples
from server.evaluation.model import LocalModel
from server.evaluation.task import Task
from server.tools.forms import FORMS
from tests.cached import tokenizer_folder
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import seeded
from tests.server.evaluation.datasets.test_json_datasets import DATA
from tests.server.evaluation.world import evaluated, split
from tests.server.tools.test_grammar import VOCABULARY

FORM = FORMS["hermes"]


def read(folder: Path, n: int = 0, form: str = "hermes") -> list[Task]:
    return tool_calls.read(folder, n, 0, FORMS[form])


@pytest.mark.parametrize("form", ["hermes", "llama", "mistral"])
def test_references_are_right_and_of_the_grammar(form: str) -> None:
    """References in the form's words are right by their judge, and belong to what our engine enforces."""
    with samples() as folder:
        for task in read(folder / "bfcl", form=form):
            assert task.judge(task.read(task.gold)).correct, task.name
            grammar = compile_grammar(task.constraint, VOCABULARY)
            after = grammar.consume_bytes(grammar.start, task.gold.encode())
            assert after is not None or (form == "llama" and task.gold.count(FORMS[form].open) > 1), task.name


def test_tags_for_xgrammar() -> None:
    """A tag for each tool, one call at least where one is required; forms with lists have no tag."""
    with samples() as folder:
        for choice in ("auto", "required"):
            for task in tool_calls.read(folder / "bfcl", 0, 0, FORM, choice):
                tag = json.loads(task.forms["structural_tag"])["format"]
                assert tag["at_least_one"] is (choice == "required")
                assert len(tag["tags"]) == len(task.tools)
        assert read(folder / "bfcl", form="mistral")[0].forms == {}


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_answers_are_valid_or_text(tmp_path: Path, choice: tool_calls.Choice) -> None:
    """Whatever the model: required calls are valid from the fewest tokens on, and with auto no call is malformed."""
    with samples() as folder:
        tasks = tool_calls.read(folder / "bfcl", 0, 0, FORM, choice)
    found = evaluated(tasks, tmp_path / "rows", "swyb,swyb:temperature=1,swyb:M=2", "150,400")
    assert len(found) == 3 * len(tasks) * 2
    answers = [row for row in found if row.outcome == "answered"]
    assert len(answers) >= len(found) // 2
    for row in found:
        if row.outcome == "refused":
            assert row.too_small
    for row in answers:
        assert row.verdict is not None and row.verdict.syntax
        assert row.verdict.valid or (choice == "auto" and row.verdict.detail == "no call")


@pytest.mark.skipif(not (DATA / "bfcl").is_dir(), reason=f"no evaluation data at {DATA} (set SWYB_DATA)")
def test_the_real_set() -> None:
    """Questions whose answer meets the tool's own parameters are 199 of 207; all references are right."""
    tasks = read(DATA / "bfcl")
    assert len(tasks) == 199
    assert [task.name for task in tasks if not task.judge(task.gold).correct] == []


@pytest.mark.full
@pytest.mark.skipif(not (DATA / "bfcl").is_dir(), reason=f"no evaluation data at {DATA} (set SWYB_DATA)")
def test_all_questions_whatever_the_model(tmp_path: Path) -> None:
    """Calls drawn from random logits over Qwen3's vocabulary are valid, and streamed as whole, at 32, 64 and 128 tokens
    wherever the fewest tokens fit.
    """
    vocabulary = Vocabulary.from_pretrained(tokenizer_folder("qwen3"))
    engine = ScriptedEngine(vocabulary, seeded(vocabulary.size, 1))
    tasks = [replace(task, messages=({"role": "user", "content": "?"},)) for task in read(DATA / "bfcl")]
    model = LocalModel(EngineLoop(engine), split)
    found = evaluated(tasks, tmp_path / "rows", "swyb:temperature=1", "32,64,128", model, concurrency=4)
    answers = [row for row in found if row.outcome == "answered"]
    assert len(answers) > 2 * len(tasks)
    assert all(row.outcome == "answered" or row.too_small for row in found)
    assert [row.task for row in answers if row.verdict is None or not row.verdict.valid] == []
