"""A tiny world to measure in: two tasks, and a tokenizer whose tokens are the bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from benchmarks.data import Task

CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}
REFUSED = {
    "type": "object",
    "properties": {"b": {"type": "array", "items": {"type": "object"}, "uniqueItems": True, "minItems": 65}},
}


@pytest.fixture
def tasks() -> list[Task]:
    """One task whose schema compiles, and one whose schema is refused for a keyword."""
    messages = ({"role": "user", "content": "What is a?"},)
    return [
        Task("plain", messages, json.dumps(CLOSED), '{"a": 17}'),
        Task("refused", messages, json.dumps(REFUSED), '{"b": 1}'),
    ]


@pytest.fixture
def world(tasks: list[Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tasks and the tokenizer `bytes` where benchmarks look for them; the folder for their results."""
    data = tmp_path / "data" / "jme"
    data.mkdir(parents=True)
    lines = [{"id": t.name, "prompt": list(t.messages), "schema": t.schema, "completion": t.completion} for t in tasks]
    (data / "jme.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setenv("SWYB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SWYB_CACHE", str(tmp_path / "cache"))
    save_tokenizer(tmp_path / "cache" / "tokenizers" / "bytes")
    return tmp_path / "results"


def save_tokenizer(folder: Path) -> None:
    """Byte-level BPE without merges, and a token that ends a text."""
    folder.mkdir(parents=True)
    alphabet = sorted(ByteLevel.alphabet())
    made = Tokenizer(BPE(vocab={character: at for at, character in enumerate(alphabet)}, merges=[]))
    made.pre_tokenizer = ByteLevel(add_prefix_space=False)
    made.decoder = ByteLevelDecoder()
    made.add_special_tokens(["<|end|>"])
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|end|>"}))
