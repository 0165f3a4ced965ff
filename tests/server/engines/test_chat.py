"""Chats become tokens by the model's template."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from server.engines.chat import ChatEncoder


def test_a_chat_is_rendered_by_the_template(tiny_folder: Callable[[str], Path]) -> None:
    """The tokens spell the rendered chat with the generation prompt, and special tokens are single ids."""
    folder = tiny_folder("llama")
    ids = ChatEncoder(folder).encode([{"role": "system", "content": "brief"}, {"role": "user", "content": "the œuvre"}])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    expected = "<|im_start|>system\nbrief<|im_end|>\n<|im_start|>user\nthe œuvre<|im_end|>\n<|im_start|>assistant\n"
    assert tokenizer.decode(ids, skip_special_tokens=False) == expected
    mark = tokenizer.token_to_id("<|im_start|>")
    assert mark is not None
    assert ids.count(mark) == 3


def test_a_text_is_split_without_marks(tiny_folder: Callable[[str], Path]) -> None:
    """Into the tokenizer's own tokens, which spell it again."""
    folder = tiny_folder("llama")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = ChatEncoder(folder).split("the œuvre: 12")
    assert ids == tokenizer.encode("the œuvre: 12", add_special_tokens=False).ids
    assert tokenizer.decode(ids) == "the œuvre: 12"


def test_many_threads_may_encode(tiny_folder: Callable[[str], Path]) -> None:
    """Chats that are encoded at the same time get the tokens that they get alone."""
    encoder = ChatEncoder(tiny_folder("llama"))
    chats = [[{"role": "user", "content": "the fox " * number}] for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(encoder.encode, chats))
    assert together == [encoder.encode(chat) for chat in chats]


@pytest.mark.parametrize(
    "chat",
    [[], [{"role": "jester", "content": "hi"}], [{"role": "user"}]],
    ids=["empty", "role", "no content"],
)
def test_a_chat_that_the_template_refuses(tiny_folder: Callable[[str], Path], chat: list[dict[str, str]]) -> None:
    """An empty chat, an unknown role and a message without content raise ValueError."""
    with pytest.raises(ValueError, match="chat"):
        ChatEncoder(tiny_folder("llama")).encode(chat)
