"""Vocabularies of GGUF files and of tokenizers in memory, beside those of the files in Hugging Face format."""

from __future__ import annotations

from pathlib import Path

import pytest
from gguf import GGUFWriter
from transformers import AutoTokenizer

from grammar_cache import Vocabulary, VocabularyError
from server.engines.weights import installed_weights
from tests.cached import model_folder
from tests.server.engines.tiny import save_tokenizer


def written(path: Path, model: str, tokens: list[str], kinds: list[int]) -> Path:
    writer = GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_eos_token_id(2)
    writer.add_eot_token_id(3)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def test_pieces_of_both_kinds_of_models_are_bytes(tmp_path: Path) -> None:
    """SentencePiece and byte-level names become bytes; control, unknown and unused tokens and markers are no text."""
    names = ["<unk>", "<s>", "</s>", "<end>", "▁the", "<0x0A>", "é", "<think>", "two words", "unused"]
    kinds = [2, 3, 3, 3, 1, 6, 1, 4, 4, 5]
    pieces = Vocabulary.from_gguf(written(tmp_path / "a.gguf", "llama", names, kinds))
    assert pieces.token_bytes == (None, None, None, None, b" the", b"\n", "é".encode(), None, b"two words", None)
    assert pieces.stop_ids == (2, 3) and dict(pieces.markers) == {7: "<think>"}
    names[4:7] = ["Ġthe", "Ċ", "Ã©"]
    by_bytes = Vocabulary.from_gguf(written(tmp_path / "b.gguf", "gpt2", names, kinds), [1])
    assert by_bytes.token_bytes == pieces.token_bytes and by_bytes.stop_ids == (1, 2, 3)


def test_what_is_no_vocabulary_is_refused(tmp_path: Path) -> None:
    """Another kind of model, a file that is no GGUF, and one that isn't there are typed errors."""
    with pytest.raises(VocabularyError, match=r"'bert' of .* is not supported"):
        Vocabulary.from_gguf(written(tmp_path / "c.gguf", "bert", ["a", "b", "c", "d"], [1, 1, 3, 3]))
    (tmp_path / "d.gguf").write_bytes(b"nothing" * 20)
    for name in ("d.gguf", "e.gguf"):
        with pytest.raises(VocabularyError, match="can't be read as GGUF"):
            Vocabulary.from_gguf(tmp_path / name)


def test_a_tokenizer_in_memory_is_that_of_its_files(tmp_path: Path) -> None:
    """A tokenizer of transformers gives the vocabulary of the folder that it was loaded from."""
    save_tokenizer(tmp_path, extra_tokens=3)
    found = Vocabulary.from_tokenizer(AutoTokenizer.from_pretrained(tmp_path))
    assert found.fingerprint == Vocabulary.from_pretrained(tmp_path).fingerprint
    with pytest.raises(VocabularyError, match="no fast tokenizer"):
        Vocabulary.from_tokenizer(object())


@pytest.mark.model
@pytest.mark.full
def test_the_embedded_models_weights_and_folder_have_one_vocabulary() -> None:
    """Two readers of two formats agree on the bytes of every token."""
    weights = installed_weights()
    if weights is None:
        pytest.skip("the embedded model's weights are not installed")
    found, expected = Vocabulary.from_gguf(weights), Vocabulary.from_pretrained(model_folder())
    assert found.token_bytes == expected.token_bytes
    assert set(found.stop_ids) <= set(expected.stop_ids)
