"""Vocabularies and formats of structural tags that several tests compile."""

from __future__ import annotations

import json
from typing import Any

from grammar_cache import CompiledGrammar, Constraint, Vocabulary, compile_grammar
from tests.grammar_cache.dialects.structural_tags.matcher import Format

PIECES = ["<f=", "a>", "b>", "</f>", "<g>", "</g>", ",", '{"n":1}', '{"n":"a"}', "12", "a", "<", "f", "é"]
LETTERS = sorted({char.encode()[at : at + 1] for piece in PIECES for char in piece for at in range(len(char.encode()))})
TAGS = {60: "<f=a>", 61: "</f>"}
WORDS = [*LETTERS, *(piece.encode() for piece in PIECES if len(piece) > 1)]
VOCABULARY = Vocabulary([*WORDS, *[None] * 40], [62], TAGS, {62: "<|end|>", 63: "<|x|>"})
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
CALL: dict[str, Any] = {
    "type": "triggered_tags",
    "triggers": ["<tool_call>"],
    "tags": [
        {
            "type": "tag",
            "begin": '<tool_call>{"name":"f","arguments":',
            "content": {"type": "json_schema", "json_schema": SCHEMA},
            "end": "}</tool_call>",
        }
    ],
}
TOOLS = Vocabulary(
    [*(bytes([byte]) for byte in range(0x20, 0x7F)), b'{"name":"', b'","arguments":', b"</", b"tool_call", *[None] * 4],
    [102],
    {99: "<tool_call>", 100: "</tool_call>", 101: "<think>"},
    {102: "<|end|>"},
)  # fmt: skip


def encoded(text: str) -> list[int]:
    """Tokens of a text, names of special tokens first, as tokenizers have it."""
    for token, name in TOOLS.markers.items():
        if name in text:
            before, _, behind = text.partition(name)
            return [*encoded(before), token, *encoded(behind)]
    return [ord(char) - 0x20 for char in text]


def compiled(format: Format, vocabulary: Vocabulary = VOCABULARY) -> CompiledGrammar:
    text = json.dumps({"type": "structural_tag", "format": format})
    return compile_grammar(Constraint("structural_tag", text, whitespace="compact"), vocabulary)


def judged(grammar: CompiledGrammar, text: str) -> bool:
    after = grammar.consume_bytes(grammar.start, text.encode())
    return after is not None and grammar.accepts(after)
