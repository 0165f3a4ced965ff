"""MaskBench: its protocol on schemas whose verdicts are plain, and the ratchet of its committed statuses."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

from benchmarks.data import MissingData, splitter, tokenizer_folder
from benchmarks.maskbench import protocol
from benchmarks.maskbench.archive import Case, Instance, read_cases, spread
from benchmarks.maskbench.maskbench import report
from benchmarks.maskbench.protocol import Outcome, judge
from benchmarks.maskbench.statuses import read_statuses, worse
from benchmarks.maskbench.swyb_engine import SwybEngine
from benchmarks.schemas.masks import Ours
from grammar_cache import Vocabulary

SAMPLE = 120
"""Schemas of the quick tier."""
PARTS = 8
"""Tests of the long tier that share all schemas: as one, a slow machine takes more than a test's time for them."""
PROTOCOL = "llama3_1"
"""Tokenizer that MaskBench's runner takes."""
NUMBER = {"type": "integer", "minimum": 10}
PAIR = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}


def single_bytes() -> Vocabulary:
    return Vocabulary([bytes([byte]) for byte in range(256)] + [None], stop_ids=[256])


@pytest.fixture(scope="module")
def peer() -> Ours:
    return Ours(single_bytes())


def split(text: str) -> list[int]:
    return list(text.encode())


def case(schema: object, *tests: tuple[str, bool]) -> Case:
    return Case("a schema", json.dumps(schema), tuple(Instance(text, valid) for text, valid in tests))


@pytest.mark.parametrize(
    ("schema", "tests", "status"),
    [
        (NUMBER, [("12", True), ("9", False)], protocol.PASSING),
        (PAIR, [('{"b": 1, "a": 2}', True)], protocol.ORDER),
        (NUMBER, [("9", True)], protocol.VALID_REJECTED),
        (NUMBER, [("12", False)], protocol.INVALID_ACCEPTED),
        ({"type": "array", "items": {"$ref": "#/nowhere"}}, [("[]", True)], protocol.REFUSED),
    ],
)
def test_a_status_follows_from_the_verdicts(
    peer: Ours, schema: object, tests: list[tuple[str, bool]], status: str
) -> None:
    """A schema has the status that its worst verdict gives it."""
    assert judge(peer, case(schema, *tests), split).status == status


def test_a_text_that_may_not_end_is_not_accepted(peer: Ours) -> None:
    """A prefix of an allowed number is counted, and isn't called accepted."""
    outcome = judge(peer, case(NUMBER, ("1", False)), split)
    assert (outcome.status, outcome.unended) == (protocol.PASSING, 1)


def test_each_mask_with_its_token_has_a_time(peer: Ours) -> None:
    """Steps are timed up to the token that is rejected, and the first counts for the first mask."""
    outcome = judge(peer, case(PAIR, ('{"a": 1}', True), ('{"a": true}', False)), split)
    assert len(outcome.steps_us) == len('{"a": 1}') + len('{"a": t')
    assert outcome.ttfm_ms >= outcome.compile_ms > 0


def test_the_spread_is_even_and_without_repeats() -> None:
    """A sample takes names at equal distances; more than there are is all."""
    names = [str(place) for place in range(10)]
    assert spread(names, 3) == ["0", "3", "6"]
    assert spread(names, 0) == spread(names, 99) == names


def test_worse_names_what_fell_and_no_improvement() -> None:
    """The ratchet lets statuses rise, and names what fell."""
    fallen = Outcome("fallen", protocol.REFUSED, "why", 0.0, 0.0, (), 0, 0, 0)
    risen = replace(fallen, name="risen", status=protocol.PASSING)
    found = worse([fallen, risen], {"fallen": protocol.PASSING, "risen": protocol.REFUSED})
    assert found == ["fallen: refused why, committed: passing"]


def test_the_report_counts_schemas_and_instances() -> None:
    """Shares are of all schemas, and times are over those that every engine gets through."""
    fine = Outcome("fine", protocol.PASSING, "", 1.0, 2.0, (3.0,), 0, 0, 0)
    wrong = Outcome("wrong", protocol.INVALID_ACCEPTED, "", 5.0, 6.0, (7.0,), 0, 2, 0)
    refused = Outcome("wrong", protocol.REFUSED, "no", 0.0, 0.0, (), 0, 0, 0)
    printed = report({"x": [fine, wrong], "y": [fine, refused]})
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in printed.splitlines()]
    assert ["x", "50.0 %", "50.0 %", "0", "0 (0)", "1 (2)"] in lines
    assert ["y", "50.0 %", "50.0 %", "1", "0 (0)", "0 (0)"] in lines
    assert sum(line[:2] == ["x", "1.00"] for line in lines) == 1


def test_the_engine_for_their_runner_gives_right_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Driven as MaskBench's runner does, the adapter takes what `jsonschema` calls valid, and no more."""
    vocabulary = single_bytes()
    monkeypatch.setattr(Vocabulary, "from_pretrained", classmethod(lambda cls, folder: vocabulary))
    engine = SwybEngine()
    engine.tokenizer_model_id = "bytes"
    engine.init()
    engine.compile_grammar(PAIR)
    values: list[object] = [{"a": 1, "b": 2}, {"a": 1, "b": True}, {"b": 3}, [], {"a": "x"}]
    for value in values:
        engine.reset()
        accepted = all(_takes(engine, token) for token in split(json.dumps(value)))
        assert accepted is jsonschema.Draft202012Validator(PAIR).is_valid(value), value


def _takes(engine: SwybEngine, token: int) -> bool:
    engine.compute_mask()
    return engine.commit_token(token)


def test_statuses_of_a_sample_are_not_worse_than_committed() -> None:
    """A sample of MaskBench's schemas is judged at least as well as the committed statuses say."""
    assert worse(_judged(SAMPLE), read_statuses()) == []


@pytest.mark.full
@pytest.mark.parametrize("part", range(PARTS))
def test_statuses_of_all_are_not_worse_than_committed(part: int) -> None:
    """All of MaskBench's schemas are judged at least as well as the committed statuses say."""
    outcomes = _judged(0, slice(part, None, PARTS))
    assert [one.name for one in outcomes] == sorted(read_statuses())[part::PARTS]
    assert worse(outcomes, read_statuses()) == []


def _judged(count: int, part: slice = slice(None)) -> list[Outcome]:
    try:
        cases, folder = read_cases(count)[part], tokenizer_folder(PROTOCOL)
    except MissingData as missing:
        pytest.skip(str(missing))
    ours, tokens = Ours(Vocabulary.from_pretrained(folder)), splitter(folder)
    return [judge(ours, one, tokens) for one in cases]
