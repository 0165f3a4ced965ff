"""Methods: how they are named, and what each does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from server.evaluation.feasible import Split
from server.evaluation.methods.registry import build
from server.evaluation.methods.sample_verify import SampleVerify
from server.evaluation.methods.spec import decoding_settings, parameters, spec, specs
from server.evaluation.reply import Reply
from server.evaluation.task import Task
from tests.server.evaluation.world import evaluated, local, read_tasks


@pytest.fixture
def tasks(tmp_path: Path) -> list[Task]:
    return read_tasks(tmp_path / "jme")


def test_specs_read_names_and_settings() -> None:
    """A label is kept as it was written; a list holds each once."""
    one, other = specs("swyb:M=4:alpha=0.5, base,base")
    assert (one.label, one.name, one.settings) == ("swyb:M=4:alpha=0.5", "swyb", {"M": "4", "alpha": "0.5"})
    assert (other.label, other.name, other.settings) == ("base", "base", {})


@pytest.mark.parametrize("text", ["", ":M=1", "swyb:M", "swyb:M=", "swyb:=1", "swyb:M=1:M=2", "a,,b"])
def test_what_is_no_method(text: str) -> None:
    with pytest.raises(ValueError, match="not a method"):
        specs(text)


def test_settings_are_those_of_decoding() -> None:
    """The paper's letters and the fields' own names, each in the type of its field."""
    found = parameters(spec("swyb:M=4:alpha=0.5:k=16:jump_forward=off:ranking=model"))
    assert (found.beam_width, found.alpha, found.candidates) == (4, 0.5, 16)
    assert (found.jump_forward, found.ranking) == (False, "model")
    assert {"M", "k", "alpha", "promotion"} <= set(decoding_settings())
    assert not {"budget", "seed"} & set(decoding_settings())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("swyb:N=4", "no setting 'N'"),
        ("swyb:M=x", "'x' is no value for M"),
        ("swyb:M=0", "at least 1"),
        ("swyb:ranking=best", "ranking is one of"),
        ("swyb:jump_forward=1", "on, off"),
        ("swyb:alpha=0.5:temperature=1", "not guided"),
        ("swyb:whitespace=none", "compact"),
        ("swyb:jump=far", "token, text"),
        ("swyb:tightening=1", "on, off"),
        ("swyb:H=x", "no number"),
        ("swyb:H=1:nodes=0", "at least 1"),
        ("swyb:nodes=9", "beside H"),
        ("base:temperature=-1", "no number"),
        ("base:M=2", "it has: temperature"),
        ("sample-verify:samples=0", "at least one"),
        ("nobody", "there are"),
        ("server", "there are"),
    ],
)
def test_settings_that_are_refused(text: str, message: str) -> None:
    """Settings are refused before anything runs, and with the label of the method."""
    with ExitStack() as stack, pytest.raises(ValueError, match=message):
        build(specs(text), local(), stack)


class Drawn:
    """A model whose samples are given."""

    name = "drawn"
    split: Split | None = None

    def __init__(self, texts: Sequence[str]) -> None:
        self.left = list(texts)
        self.seeds: list[int | None] = []

    async def free(self, task: Task, budget: int, *, temperature: float = 0.0, seed: int | None = None) -> Reply:
        assert (budget, temperature) == (9, 0.8)
        self.seeds.append(seed)
        return Reply("answered", text=self.left.pop(0), tokens=3, seconds=0.5, complete=True, settled=True)


@pytest.mark.parametrize(
    ("texts", "answer", "drawn"),
    [
        (['{"a":1}'], '{"a":1}', 1),
        (["no", '{"a":"x"}', '```json\n{"a":2}\n```', '{"a":3}'], '```json\n{"a":2}\n```', 3),
        ([*"abcdefghi", "last", '{"a":1}'], "last", 10),
    ],
)
def test_sample_verify(tasks: list[Task], texts: list[str], answer: str, drawn: int) -> None:
    """The first valid sample of ten, after the usual post-processing; else the last. Everything drawn counts."""
    model = Drawn(texts)
    reply = asyncio.run(SampleVerify(spec("sample-verify"), model).answer(tasks[0], 9, 100))
    assert (reply.text, reply.tokens, reply.seconds) == (answer, 3 * drawn, 0.5 * drawn)
    assert model.seeds == list(range(100, 100 + drawn))


def test_whitespace_is_a_setting_of_ours(tasks: list[Task], tmp_path: Path) -> None:
    """Compact JSON has none, whatever the model."""
    [row] = evaluated(tasks[:1], tmp_path / "r.jsonl", "swyb:whitespace=compact", "30")
    assert row.text is not None
    assert not set(row.text) & set(" \n\t")


def test_settings_of_the_grammar(tmp_path: Path) -> None:
    """The exploration bound, additive distances, jumps over text, tables: answers are complete with each."""
    tasks = read_tasks(tmp_path / "data")
    methods = "swyb,swyb:B=1,swyb:tightening=off,swyb:M=2:jump=text,swyb:H=2:nodes=50:tightening=off"
    rows = evaluated(tasks[:1], tmp_path / "r.jsonl", methods, "30")
    assert [row.method for row in rows] == methods.split(",")
    assert all(row.complete and row.verdict is not None and row.verdict.valid for row in rows)
