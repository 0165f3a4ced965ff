"""The embedded model: made once, whole or not at all, and the model it should be."""

from __future__ import annotations

import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import util
from pathlib import Path
from typing import Any, NoReturn

import pytest

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.engines import embedded
from server.engines.embedded import NAME, ensure_embedded_model
from server.engines.weights import EmbeddedModelError
from tests.cached import model_folder


def nothing_to_report(line: str) -> NoReturn:
    raise AssertionError(f"reported: {line}")


def unversioned(path: Path) -> bytes:
    """Bytes of a file without the line that tells the version of transformers: the cache may be older."""
    return re.sub(rb'\n *"transformers_version": .*', b"", path.read_bytes())


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """Replaces the conversion by one that takes 50 ms and writes one file; lists the folders it wrote to."""
    made: list[Path] = []

    def convert(weights: Path, target: Path, report: embedded.Report) -> None:
        made.append(target)
        time.sleep(0.05)
        (target / "config.json").write_text("{}")

    weights = tmp_path / "weights.gguf"
    weights.write_bytes(b"GGUF")
    monkeypatch.setattr(embedded, "installed_weights", lambda: weights)
    monkeypatch.setattr(embedded, "_convert", convert)
    return made


def test_a_folder_that_is_there_is_taken(tmp_path: Path) -> None:
    """A folder that exists is taken: nothing is looked up, made or reported."""
    folder = tmp_path / "models" / NAME
    folder.mkdir(parents=True)
    assert ensure_embedded_model(tmp_path, nothing_to_report) == folder


def test_parallel_starts_make_it_once(tmp_path: Path, conversions: list[Path]) -> None:
    """One of eight starts at once makes the folder, and every one returns when it is complete."""
    together = threading.Barrier(8)

    def start(_: int) -> bool:
        together.wait()
        return (ensure_embedded_model(tmp_path, lambda line: None) / "config.json").is_file()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(start, range(8))) == [True] * 8
    assert len(conversions) == 1
    assert {path.name for path in (tmp_path / "models").iterdir()} == {NAME, f".{NAME}.lock"}


def test_a_failure_leaves_nothing(tmp_path: Path, conversions: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversion that fails halfway leaves no folder behind, and the next start makes it."""

    def fail(weights: Path, target: Path, report: embedded.Report) -> None:
        (target / "config.json").write_text("{")
        raise OSError("disk full")

    with monkeypatch.context() as broken:
        broken.setattr(embedded, "_convert", fail)
        with pytest.raises(OSError, match="disk full"):
            ensure_embedded_model(tmp_path, lambda line: None)
    assert {path.name for path in (tmp_path / "models").iterdir()} == {f".{NAME}.lock"}
    assert (ensure_embedded_model(tmp_path, lambda line: None) / "config.json").read_text() == "{}"


def test_what_a_killed_process_left_is_removed(tmp_path: Path, conversions: list[Path]) -> None:
    """Unfinished folders of earlier processes don't pile up."""
    abandoned = tmp_path / "models" / f".{NAME}.new-killed"
    abandoned.mkdir(parents=True)
    lines: list[str] = []
    ensure_embedded_model(tmp_path, lines.append)
    assert not abandoned.exists()
    assert lines[0].startswith(f"{NAME}: unpacking")
    assert "ready" in lines[-1]


def test_missing_converters_are_named(tmp_path: Path, conversions: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the libraries that convert the weights where they are missing, and the extra that has them."""
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "gguf" else object())
    with pytest.raises(EmbeddedModelError, match=r"needs gguf: pip install 'swyb\[embedded\]'"):
        ensure_embedded_model(tmp_path, nothing_to_report)
    assert conversions == []


@pytest.mark.model
def test_stop_tokens() -> None:
    """The end of a turn stops an answer, and so does that of a document."""
    folder = model_folder()
    vocabulary = Vocabulary.from_pretrained(folder)
    tokens = json.loads((folder / "tokenizer.json").read_text())["added_tokens"]
    names = {token["id"]: token["content"] for token in tokens}
    assert {names[stop] for stop in vocabulary.stop_ids} == {"<|im_end|>", "<|endoftext|>"}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(model_folder())


@pytest.mark.model
@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a  1250", ["a", "ĠĠ", "1", "2", "5", "0"]),
        ("Hello world 12", ["Hello", "Ġworld", "Ġ", "1", "2"]),
        ("<|im_start|>user\n", ["<|im_start|>", "user", "Ċ"]),
    ],
)
def test_tokens(text: str, pieces: list[str], tokenizer: Any) -> None:
    """Digits are split one by one before words are, special tokens are found, decoding inverts."""
    ids = tokenizer(text)["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids) == pieces
    assert tokenizer.decode(ids) == text


@pytest.mark.model
def test_it_answers(tokenizer: Any) -> None:
    """Asked in its chat template for the capital of France, the model says Paris and ends its turn."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(model_folder())
    question = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = tokenizer.apply_chat_template(question, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    answer = model.generate(**prompt, max_new_tokens=20, do_sample=False)[0, prompt["input_ids"].shape[1] :]
    assert tokenizer.decode(answer) == "The capital of France is Paris.<|im_end|>"


@pytest.mark.full
@pytest.mark.model
def test_making_it_again_gives_the_same_files(tmp_path: Path) -> None:
    """The folder made from the installed package is that in the cache, but for the version that wrote it."""
    cached, made = model_folder(), ensure_embedded_model(tmp_path, lambda line: None)
    assert {path.name: unversioned(path) == unversioned(cached / path.name) for path in made.iterdir()} == {
        path.name: True for path in cached.iterdir()
    }
