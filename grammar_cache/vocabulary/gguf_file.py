"""Tokenizer of a GGUF file, retold as the files of a tokenizer in Hugging Face format: one reader then reads both."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

from grammar_cache.errors import VocabularyError
from grammar_cache.vocabulary.tokenizer_file import Files

_NORMAL, _UNKNOWN, _CONTROL, _ADDED, _UNUSED = range(1, 6)
_DECODERS = MappingProxyType(
    {
        "gpt2": {"type": "ByteLevel"},
        "llama": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
            ],
        },
    }
)
"""Decoders by `tokenizer.ggml.model`: what its tokens' names spell."""
_ENDS = ("eos_token_id", "eot_token_id", "eom_token_id")


def files(path: Path) -> Files:
    """The tokenizer in a GGUF file. Needs the package `gguf`. Raises VocabularyError for what can't be read."""
    try:
        from gguf import GGUFReader
    except ImportError as error:
        raise VocabularyError("GGUF files are read by the package gguf, which is not installed") from error
    try:
        reader = GGUFReader(path)
        told: dict[str, Any] = {
            name: field.contents() for name, field in reader.fields.items() if name.startswith("tokenizer.ggml.")
        }
    except (OSError, ValueError, IndexError, KeyError) as error:
        raise VocabularyError(f"{path} can't be read as GGUF: {error}") from error
    return _retold(path, {name.removeprefix("tokenizer.ggml."): value for name, value in told.items()})


def _retold(path: Path, told: dict[str, Any]) -> Files:
    names, model = told.get("tokens"), str(told.get("model"))
    if not isinstance(names, list):
        raise VocabularyError(f"{path} has no tokens")
    if model not in _DECODERS:
        raise VocabularyError(f"the tokenizer model {model!r} of {path} is not supported: only gpt2 and llama are")
    kinds = told.get("token_type") or [_NORMAL] * len(names)
    if len(kinds) != len(names):
        raise VocabularyError(f"{path} has {len(names)} tokens and {len(kinds)} types of them")
    added = [
        {"id": number, "content": name, "special": kind != _ADDED}
        for number, (name, kind) in enumerate(zip(names, kinds, strict=True))
        if kind in (_UNKNOWN, _CONTROL, _ADDED, _UNUSED)
    ]
    tokenizer = {
        "model": {"type": "BPE", "vocab": {name: number for number, name in enumerate(names)}},
        "decoder": _DECODERS[model],
        "added_tokens": added,
    }
    ends = sorted({told[name] for name in _ENDS if name in told})
    contents = {"tokenizer.json": tokenizer, "generation_config.json": {"eos_token_id": ends}}
    return Files(path, {name: json.dumps(value).encode() for name, value in contents.items()})
