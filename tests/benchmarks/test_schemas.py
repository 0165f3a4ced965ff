"""The benchmark of real schemas on a corpus of three: verdicts, refusals and limits, not speed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.peers import find as peers
from benchmarks.schemas.corpus import read_items
from benchmarks.vllm.workers import Caps, Failed, Worker
from grammar_cache import Constraint, Limits
from grammar_cache.compile import parse
from grammar_cache.configurations.interner import Configurations
from grammar_cache.network.network import build
from server.checking import member_order
from tests.benchmarks.conftest import CLOSED
from tests.benchmarks.test_benchmarks import rows

PAIR = {
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


@pytest.fixture
def corpus(world: Path) -> Path:
    """Three schemas, one of them refused; the folder for results."""
    folder = world.parent / "data" / "jsonschemabench"
    folder.mkdir()
    items: list[tuple[str, object, list[tuple[bool, str] | tuple[bool, str, bool]]]] = [
        ("closed", CLOSED, [(True, '{"a": 1}'), (False, '{"a": "x"}'), (True, '{"a": "doubtful"}', True)]),
        ("pair", PAIR, [(True, '{"b": 1, "a": 2}'), (False, '{"a": 1}')]),
        ("refused", {"$ref": "https://a.test/"}, []),
    ]
    lines = []
    for name, schema, tests in items:
        told = [dict(zip(("valid", "text", "disputed"), test, strict=False)) for test in tests]
        lines.append(json.dumps({"id": name, "split": "s", "schema": schema, "tests": told}))
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    return world


def test_the_language_is_judged_without_a_vocabulary(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An instance whose members are in another order is told from one that is generated; refusals have a reason."""
    assert main(["schemas", "--language-only", "--out", str(corpus)]) == 0
    closed, pair, refused = rows(corpus, "schemas-language")
    assert (closed["written"], closed["reordered"]) == ([True, False, False], [True, False, False])
    assert (pair["written"], pair["reordered"]) == ([False, False], [True, False])
    assert [closed["ordered"], pair["ordered"]] == [[True, False, False], [True, False]]
    assert (refused["failure"], refused["keyword"]) == ("unsupported_feature", "$ref")
    printed = capsys.readouterr().out
    assert re.search(r"valid accepted as written +\| +50.0 % \| +1/2 ", printed)
    assert "valid accepted as written (disputed)" in printed


def test_masks_follow_every_instance(
    corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each token of a valid instance as written is a step, up to where it is rejected."""
    monkeypatch.setattr("benchmarks.schemas.schemas.find_spec", lambda name: None)
    assert main(["schemas", "--tokenizer", "bytes", "--repeats", "2", "--out", str(corpus)]) == 0
    closed, pair, refused = rows(corpus, "schemas")
    assert (closed["written"], closed["reordered"]) == ([True, False, False], [True, False, False])
    assert len(closed["steps_us"]) == len(closed["again_us"]) == len('{"a": 1}') + len('{"a": "')
    assert (pair["written"], pair["reordered"]) == ([False, False], [True, False])
    assert refused["failure"] == "refused"
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if "xgrammar" in line and "not installed" in line]
    assert "Times over the 2 schemas" in printed
    assert "Invalid, yet accepted by swyb: none." in printed


@pytest.mark.full
@pytest.mark.parametrize("name", peers.NAMES)
def test_peers_are_judged_alike(corpus: Path, name: str) -> None:
    """A peer has the same rows."""
    pytest.importorskip(name.partition("-")[0], reason=f"the package of {name} is not installed: make bench does it")
    assert main(["schemas", "--tokenizer", "bytes", "--peers", name, "--repeats", "1", "--out", str(corpus)]) == 0
    found = rows(corpus, "schemas")
    assert [row["engine"] for row in found] == ["swyb"] * 3 + [name] * 3
    assert found[3]["written"][:2] == [True, False]


def test_a_sample_has_of_each_collection_its_share(corpus: Path) -> None:
    """Every k-th schema, in the order of the collections."""
    path = corpus.parent / "data" / "jsonschemabench" / "corpus.jsonl"
    lines = [json.dumps({"id": f"{at}", "split": f"{at % 2}", "schema": {}, "tests": []}) for at in range(10)]
    path.write_text("\n".join(lines))
    assert [item.split for item in read_items(4)] == ["0", "0", "1", "1"]
    assert len(read_items(0)) == 10
    assert len(read_items(99)) == 10


WORKER = """
import json, sys, time
print("true", flush=True)
for line in sys.stdin:
    match json.loads(line):
        case "sleep": time.sleep(60)
        case "grow": kept = b"x" * (400 << 20); time.sleep(60)
        case "die": sys.exit(3)
        case other: print(json.dumps({"told": other}), flush=True)
"""


def test_a_worker_outlives_what_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hanging, growing and dying are told apart, and the next question is answered."""
    (tmp_path / "answering.py").write_text(WORKER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    worker = Worker("answering", [], Caps(setup=30, seconds=2, bytes=200 << 20))
    try:
        for question, failure in (("sleep", "timeout"), ("grow", "memory"), ("die", "crash")):
            assert worker.ask("a") == {"told": "a"}
            with pytest.raises(Failed, match=failure):
                worker.ask(question)
        assert worker.ask([1, 2]) == {"told": (1, 2)}
    finally:
        worker.close()


def test_a_worker_that_never_gets_ready_is_an_error() -> None:
    """A broken installation isn't taken for a slow schema."""
    worker = Worker("no_such_module", [], Caps(setup=30))
    with pytest.raises(RuntimeError, match="no_such_module"):
        worker.ask(1)


def test_orders_keep_the_spelling_of_numbers() -> None:
    """Schemas that are read and written again have their numbers as they were, and members as the schema lists them."""
    value = member_order.read('{"b": 1.50, "a": [1e2, {"d": 0, "c": "é"}]}')
    assert member_order.write(value) == '{"b": 1.50, "a": [1e2, {"d": 0, "c": "é"}]}'
    ordered = member_order.in_schema_order(value, {"properties": {"a": {"items": {"required": ["c"]}}, "b": {}}})
    assert member_order.write(ordered) == '{"a": [1e2, {"c": "é", "d": 0}], "b": 1.50}'


def test_an_order_that_the_grammar_derives_is_found() -> None:
    """Whatever the order of the members; None where there is none."""
    limits = Limits()
    grammar = parse(Constraint("json_schema", json.dumps({"items": PAIR, "type": "array"})), limits)
    table = Configurations(build(grammar, limits), limits.configurations)
    assert (
        member_order.generated(table, member_order.read('[{"b":1,"a":2},{"a":3,"b":4}]'))
        == '[{"a": 2, "b": 1}, {"a": 3, "b": 4}]'
    )
    assert member_order.generated(table, member_order.read('[{"b":1}]')) is None
    assert member_order.derives(table, '[{"a":1,"b":1}]')
    assert not member_order.derives(table, '[{"b":1,"a":1}]')
