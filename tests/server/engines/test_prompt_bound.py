"""A chat that is too long is known without tokenising it, and no other one is taken for too long."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from grammar_cache import Vocabulary
from server.engines.chat import BOUND_BYTES, ChatEncoder
from server.engines.contract import PromptTooLong
from server.engines.prompt_bound import PromptBound
from tests.cached import EMBEDDED_MODEL, model_folder, tokenizer_folder

SPECIAL = ["<|im_end|>", "<|im_start|>", "<start_of_turn>", "<eos>", "<0x0A>", "<unk>", "<|eot_id|>", "[multimodal]"]
BLOCKS = st.one_of(
    st.text(max_size=12),
    st.text(st.sampled_from("ab \n\t▁.,0<|>é\u0301\u0338\u1100\u1161\x04\xf1"), max_size=30),
    st.sampled_from(
        [*SPECIAL, "the quick brown fox ", " " * 40, "▁" * 20, "=" * 70, "e\u0301", "가", "\U00016d67" * 3]
    ),
    st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=4), st.integers(1, 60)),
)
# Byte-level, with bytes that no token has; with NFC; and, in the long tier, a larger one and SentencePiece's kind.
KINDS = [
    EMBEDDED_MODEL,
    "qwen3",
    *(pytest.param(name, marks=pytest.mark.full) for name in ("llama3_1", "gemma3")),
]
TEXTS = st.lists(BLOCKS, max_size=8).map("".join)


@cache
def parts(name: str) -> tuple[Any, PromptBound]:
    """The library's own tokenizer and what is known of it."""
    folder = tokenizer_folder(name)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return tokenizer, PromptBound(tokenizer, Vocabulary.from_pretrained(folder))


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=200, deadline=None)
@given(text=TEXTS)
def test_never_more_than_the_tokenizer_makes(name: str, text: str) -> None:
    """Whatever is in the text: spaces, marks, tokens' own names, bytes that no token has, what NFC composes."""
    tokenizer, bound = parts(name)
    tokens = len(tokenizer.encode(text, add_special_tokens=False).ids)
    assert not bound.more_than(text, tokens)


@pytest.mark.parametrize("name", KINDS)
def test_prose_is_known_to_be_too_long(name: str) -> None:
    """Most tokens of plain text are certain: two thirds at least."""
    tokenizer, bound = parts(name)
    text = "The quick brown fox jumps over the lazy dog, 127 times; nobody knows why. " * 50
    assert bound.more_than(text, len(tokenizer.encode(text, add_special_tokens=False).ids) * 2 // 3)


@pytest.mark.parametrize(
    "change",
    [
        lambda tokenizer: setattr(tokenizer, "normalizer", normalizers.Lowercase()),
        lambda tokenizer: setattr(tokenizer, "normalizer", normalizers.Strip()),
        lambda tokenizer: setattr(tokenizer, "pre_tokenizer", pre_tokenizers.Whitespace()),
        lambda tokenizer: setattr(tokenizer, "pre_tokenizer", pre_tokenizers.Split("a", "removed")),
        lambda tokenizer: setattr(tokenizer, "model", models.WordLevel({"a": 0}, unk_token="a")),
    ],
)
def test_nothing_is_known_of_tokenizers_that_drop_text(change: Any) -> None:
    """A tokenizer that drops text may make one token of a million characters."""
    folder = model_folder()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    vocabulary = Vocabulary.from_pretrained(folder)
    assert PromptBound(tokenizer, vocabulary).more_than("abc " * 50, 3)
    change(tokenizer)
    assert not PromptBound(tokenizer, vocabulary).more_than("abc " * 50, 3)


def test_a_long_chat_is_not_tokenised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Megabytes that can't fit never reach the tokenizer; what may fit does, and is counted."""
    folder = tokenizer_folder(EMBEDDED_MODEL)
    encoder = ChatEncoder(folder, Vocabulary.from_pretrained(folder))
    split = encoder._split
    seen: list[int] = []

    def noting(text: str, plain: bool) -> list[int]:
        seen.append(len(text))
        return split(text, plain=plain)

    monkeypatch.setattr(encoder, "_split", noting)
    for content in ("a word or two. " * 200_000, "é" * 1_000_000, "e\u0301" * 1_000_000):
        with pytest.raises(PromptTooLong):
            encoder.encode([{"role": "user", "content": content}], 8191)
    assert seen == []
    with pytest.raises(PromptTooLong):
        encoder.encode([{"role": "user", "content": "word " * 100}], 99)
    assert len(seen) == 1 and seen[0] < BOUND_BYTES
    ids = encoder.encode([{"role": "user", "content": "word"}])
    assert encoder.encode([{"role": "user", "content": "word"}], len(ids)) == ids
