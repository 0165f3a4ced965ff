"""Files that `make test` puts in the cache folder, for the tests that need them: found, or the test is skipped."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from grammar_cache import Vocabulary

TOKENIZERS = ("SmolLM2-135M-Instruct", "llama3_1", "qwen3", "gemma3")
EMBEDDED_MODEL = TOKENIZERS[0]


def cache_folder() -> Path:
    return Path(os.environ.get("SWYB_CACHE") or Path.home() / ".cache" / "swyb")


def model_folder() -> Path:
    """The embedded model in Hugging Face format."""
    folder = cache_folder() / "models" / EMBEDDED_MODEL
    if not (folder / "config.json").is_file():
        pytest.skip("the embedded model is not in the cache: `make test` puts it there")
    return folder


def tokenizer_folder(name: str) -> Path:
    """The folder with the tokenizer.json of one of `TOKENIZERS`."""
    if name == EMBEDDED_MODEL:
        return model_folder()
    folder = cache_folder() / "tokenizers" / name
    if not (folder / "tokenizer.json").is_file():
        pytest.skip(f"the tokenizer {name} is not in the cache: scripts/fetch_tokenizers.sh fetches it")
    return folder


@cache
def real_vocabulary(name: str) -> Vocabulary:
    """The vocabulary of one of `TOKENIZERS`, read once: that takes up to two seconds."""
    return Vocabulary.from_pretrained(tokenizer_folder(name))
