"""The picture of the README: its data keep the promise, and it is drawn from them."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import jsonschema
import pytest

from benchmarks import promise
from benchmarks.promise_picture import Data, Run, picture
from grammar_cache import Constraint, Vocabulary, compile_grammar
from tests.cached import model_folder

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def data() -> Data:
    found: Data = json.loads((promise.RESULTS / "promise.json").read_text(encoding="utf-8"))
    return found


def left(data: Data, run: Run) -> list[int]:
    return [data["budget"] - used for used in range(len(run["tokens"]) + 1)]


def test_masks_alone_are_cut(data: Data) -> None:
    """All tokens are spent, the text is no JSON, and the distance has come above what is left."""
    run = data["masks_alone"]
    assert data["budget"] == len(run["tokens"]) == promise.BUDGET == 24
    assert not run["complete"]
    with pytest.raises(json.JSONDecodeError):
        json.loads("".join(run["tokens"]))
    assert run["distances"][-1] > left(data, run)[-1]


def test_swyb_is_complete(data: Data) -> None:
    """The text is valid by the reference validator, and the distance never above what is left."""
    run = data["swyb"]
    assert run["complete"]
    assert len(run["tokens"]) <= data["budget"]
    assert data["schema"] == promise.SCHEMA
    jsonschema.validate(json.loads("".join(run["tokens"])), data["schema"])
    assert all(distance <= rest for distance, rest in zip(run["distances"], left(data, run), strict=True))
    assert run["distances"][-1] == 0
    assert min(run["distances"][:-1]) > 0


def test_the_distances_are_those_of_the_core(data: Data) -> None:
    """Told once more, with the model's tokenizer: the numbers in the file are no others."""
    vocabulary = Vocabulary.from_pretrained(model_folder())
    grammar = compile_grammar(Constraint("json_schema", json.dumps(promise.SCHEMA)), vocabulary)
    assert grammar.minimum.tokens == data["minimum"]
    ids = {
        text: vocabulary.token_bytes.index(text.encode())
        for run in ("masks_alone", "swyb")
        for text in data[run]["tokens"]
    }
    for run in (data["masks_alone"], data["swyb"]):
        assert promise.told(grammar, [ids[text] for text in run["tokens"]]) == run


def test_the_picture_is_drawn_from_the_data(data: Data) -> None:
    """Drawing it again gives the file; it shows each token once a run, and is small."""
    drawn = (promise.RESULTS / "promise.svg").read_text(encoding="utf-8")
    assert drawn == picture(data)
    assert len(drawn.encode()) < 60_000
    shown = [node.text for node in ElementTree.fromstring(drawn).iter(f"{SVG}text") if node.get("class") == "token ink"]
    written = data["masks_alone"]["tokens"] + data["swyb"]["tokens"]
    assert shown == [token.replace(" ", "\u00a0") for token in written]


def test_the_picture_changes_with_the_data(data: Data) -> None:
    """A distance more or a token less is another picture."""
    for changed in ({"distances": [9, *data["swyb"]["distances"][1:]]}, {"tokens": data["swyb"]["tokens"][:-1]}):
        run: Run = {**data["swyb"], **changed}  # type: ignore[typeddict-item]
        assert picture({**data, "swyb": run}) != picture(data)
