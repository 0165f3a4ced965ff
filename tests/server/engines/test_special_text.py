"""Special tokens in messages stay text, and turns that a template has no words for become text."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from server.engines.chat import ChatEncoder
from server.engines.contract import Rendering, UnknownVariable
from server.engines.special_text import SpecialText
from tests.cached import TOKENIZERS, tokenizer_folder
from tests.timing import within

pytestmark = pytest.mark.filterwarnings("ignore")  # of transformers, about files of tokenizers


@cache
def encoder(name: str) -> ChatEncoder:
    return ChatEncoder(tokenizer_folder(name))


@cache
def tokenizer(name: str) -> Tokenizer:
    return Tokenizer.from_file(str(tokenizer_folder(name) / "tokenizer.json"))


def specials(name: str) -> dict[int, str]:
    """Ids and texts of the special tokens, as the tokenizer's own file has them."""
    added = tokenizer(name).get_added_tokens_decoder()
    return {number: token.content for number, token in added.items() if token.special}


def special_ids(name: str, ids: list[int]) -> list[int]:
    return [token for token in ids if token in specials(name)]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_no_special_token_comes_out_of_a_message(name: str) -> None:
    """Whatever of them a message spells, the prompt has the template's own ones alone, and the text is whole."""
    texts = list(specials(name).values())
    said = " ".join(texts[:40]) + "".join(texts[:40])
    plain, hostile = (encoder(name).encode([{"role": "user", "content": content}]) for content in ("x", f"x{said}"))
    assert special_ids(name, hostile) == special_ids(name, plain)
    shown = tokenizer(name).decode(hostile, skip_special_tokens=False)
    if name != "gemma3":  # whose template strips, and whose tokenizer has white space of its own
        assert f"x{said}" in shown
    assert tokenizer(name).encode(said, add_special_tokens=False).ids != hostile


@pytest.mark.parametrize("name", TOKENIZERS)
def test_harmless_messages_are_encoded_as_a_whole(name: str) -> None:
    """Messages that spell no special token aren't cut: the tokens are those of the rendered chat."""
    made = encoder(name)
    ids = made.encode([{"role": "user", "content": "the œuvre < 12 | 13 >"}])
    text = made._rendered([[{"role": "user", "content": "the œuvre < 12 | 13 >"}], (), {}], Rendering())
    assert ids == tokenizer(name).encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("name", ["SmolLM2-135M-Instruct", "qwen3"])
def test_calls_names_and_variables_are_text_too(name: str) -> None:
    """Special tokens in names, in arguments and results of calls, in tools and in variables are no tokens either."""
    bad = "<|im_end|>"

    def chat(said: str) -> list[dict[str, Any]]:
        call = {
            "id": "c",
            "type": "function",
            "function": {"name": f"f{said}", "arguments": {"a": said, f"b{said}": 1}},
        }
        return [
            {"role": "user", "content": "x", "name": f"Ann{said}"},
            {"role": "assistant", "content": "", "tool_calls": [call], "reasoning_content": f"r{said}"},
            {"role": "tool", "content": f"2{said}", "tool_call_id": "c", "name": f"f{said}"},
        ]

    schema = {"type": "object", "properties": {bad: {"type": "string"}}}
    tool = {"type": "function", "function": {"name": "f", "description": bad, "parameters": schema}}
    plain = encoder(name).encode(chat(""), None, Rendering(tools=({**tool, "function": {"name": "f"}},)))
    hostile = encoder(name).encode(chat(bad), None, Rendering(tools=(tool,)))
    assert len(hostile) > len(plain)
    assert special_ids(name, hostile) == special_ids(name, plain)


@given(
    st.text("<|im_end>x\ue000\ue001 ", max_size=30), st.lists(st.sampled_from(["<|im_end|>", "<", "<|", "e>b", "x"]))
)
def test_marks_leave_the_text_as_it_is(text: str, special: list[str]) -> None:
    """The text without marks is the same, and no piece that is read for special tokens holds one of them."""
    marking = SpecialText(special).marking("", [text])
    pieces = list(marking.pieces(str(marking.marked(text))))
    assert "".join(piece for piece, _ in pieces) == text
    for piece, plain in pieces:
        assert piece in special if plain else not any(token in piece for token in special)


def test_marks_that_a_template_has_cut_apart() -> None:
    """A mark whose partner is gone marks nothing: what the template says next is the template's."""
    marking = SpecialText(["</t>"]).marking("", ["</t>"])
    marked = str(marking.marked("a</t>b"))
    rest = marked[marked.index("</t>") + len("</t>") :]
    assert list(marking.pieces(f"<s>{rest}<e>")) == [("<s>", False), ("b<e>", False)]


def test_a_chat_with_every_character_for_private_use() -> None:
    """A chat that leaves nothing to mark with is refused soon, however long; without special tokens it is fine."""
    private = "".join(map(chr, (*range(0xE000, 0xF900), *range(0xF0000, 0xFFFFE), *range(0x100000, 0x10FFFE))))
    found = SpecialText(["<s>"])
    with within(5):
        with pytest.raises(ValueError, match="private"):
            found.marking("", ["<s>" + "x" * 4_000_000 + private])
        assert found.marking("", [private]).marked(private) == private


def test_many_special_tokens_are_found_as_fast_as_few() -> None:
    """Texts that are nearly special don't take a time for each token."""
    tokens = [f"<|reserved_special_token_{number}|>" for number in range(4_000)]
    text = "<|reserved_special_token_" * 100_000
    with within(5):
        assert list(SpecialText(tokens).marking("", [text]).pieces(text)) == [(text, False)]


CALL = {"id": "c", "type": "function", "function": {"name": "add", "arguments": {"a": "é"}}}
CALLED: list[dict[str, Any]] = [
    {"role": "user", "content": "go", "name": "Ann"},
    {"role": "assistant", "content": "ok", "tool_calls": [CALL, CALL]},
    {"role": "tool", "content": "1", "name": "add", "tool_call_id": "c"},
    {"role": "tool", "content": "2", "name": "add", "tool_call_id": "c"},
]


def test_a_template_without_words_for_tools(tiny_folder: Callable[[str], Path]) -> None:
    """Calls are the assistant's text, results that follow each other one turn of the user, a name stands before."""
    folder = tiny_folder("llama")
    shown = Tokenizer.from_file(str(folder / "tokenizer.json")).decode(
        ChatEncoder(folder).encode(CALLED), skip_special_tokens=False
    )
    call = '<tool_call>\n{"name": "add", "arguments": {"a": "é"}}\n</tool_call>'
    assert shown == (
        "<|im_start|>user\nAnn: go<|im_end|>\n"
        f"<|im_start|>assistant\nok\n{call}\n{call}<|im_end|>\n"
        "<|im_start|>user\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_a_template_with_words_for_tools() -> None:
    """A template with words for tools says them itself, with the tools that were given."""
    tool = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
    ids = encoder("qwen3").encode(CALLED, None, Rendering(tools=(tool,)))
    shown = tokenizer("qwen3").decode(ids, skip_special_tokens=False)
    assert '"name": "add", "parameters"' in shown
    assert shown.count("<tool_response>") == 2
    assert "Ann: go" in shown


def test_variables_reach_the_template() -> None:
    """One that the template has changes the prompt; one that it doesn't have is refused, unless it is false."""
    chat = [{"role": "user", "content": "hi"}]
    thinking, not_thinking = (
        encoder("qwen3").encode(chat, None, Rendering(variables={"enable_thinking": flag})) for flag in (True, False)
    )
    assert thinking != not_thinking
    smol = encoder("SmolLM2-135M-Instruct")
    assert smol.encode(chat, None, Rendering(variables={"enable_thinking": False})) == smol.encode(chat)
    with pytest.raises(UnknownVariable, match="enable_thinking"):
        smol.encode(chat, None, Rendering(variables={"enable_thinking": True}))


def test_the_end_of_the_prompt(tiny_folder: Callable[[str], Path]) -> None:
    """A last turn may be left open, and none opened after it."""
    folder = tiny_folder("llama")
    made, told = ChatEncoder(folder), Tokenizer.from_file(str(folder / "tokenizer.json"))
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "the fox"}]
    closed = made.encode(chat, None, Rendering(generation_prompt=False))
    opened = made.encode(chat, None, Rendering(generation_prompt=False, continue_final=True))
    assert told.decode(closed, skip_special_tokens=False).endswith("the fox<|im_end|>\n")
    assert told.decode(opened, skip_special_tokens=False).endswith("assistant\nthe fox")


def test_arguments_nested_too_deeply_are_refused() -> None:
    """A template that prints them would end in an error of Python's."""
    deep: Any = "x"
    for _ in range(5_000):
        deep = {"a": deep}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": deep}}
    answer: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": [call]}
    chat = [{"role": "user", "content": "<|im_end|>"}, answer]
    with pytest.raises(ValueError, match="nested too deeply"):
        encoder("qwen3").encode(chat)
