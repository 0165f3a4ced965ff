"""Spelling of bytes in the names of a tokenizer's tokens: its decoder, read as a function of one token.

Byte-level decoders map every character of a name to one byte (GPT-2's table). SentencePiece-like decoders
replace a stand-in for the space and read `<0xNN>` as one byte. What a decoder does to a *whole* text, such as
dropping its first space, is left out: an answer is what its tokens spell. A step that can't be read token by
token is refused, never guessed. This module knows no token ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from grammar_cache.errors import VocabularyError

Spelling: TypeAlias = Callable[[str], bytes]
Json: TypeAlias = Mapping[str, Any]

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def spelling_of(tokenizer: Json) -> tuple[Spelling, Spelling]:
    """Spellings of a parsed tokenizer.json: what the model's own tokens spell, and what added ones spell."""
    steps = list(_steps(tokenizer.get("decoder"), "decoders"))
    byte_level = any(step.get("type") == "ByteLevel" for step in steps)
    if not steps:
        before = _steps(tokenizer.get("pre_tokenizer"), "pretokenizers")
        byte_level = any(step.get("type") == "ByteLevel" for step in before)
        if not byte_level:
            raise VocabularyError("tokenizer.json has no decoder: what its tokens spell can't be known")
    if byte_level:
        for step in steps:
            if step.get("type") not in ("ByteLevel", "Fuse"):
                raise _unsupported(step)
        # Added tokens are matched in the text before bytes become characters: they stand for themselves.
        return _byte_level_bytes, _utf8
    model = tokenizer.get("model")
    spell = _piece_spelling(steps, bool(model.get("byte_fallback")) if isinstance(model, Mapping) else False)
    return spell, spell


def _steps(tree: object, children: str) -> Iterator[Json]:
    """The steps of nested Sequences in order."""
    waiting = [tree] if tree is not None else []
    while waiting:
        step = waiting.pop()
        if not isinstance(step, Mapping):
            raise VocabularyError("tokenizer.json: a decoder or pre-tokenizer is not an object")
        if step.get("type") == "Sequence" and isinstance(step.get(children), list):
            waiting.extend(reversed(step[children]))
        else:
            yield step


def _unsupported(step: Json) -> VocabularyError:
    return VocabularyError(f"the tokenizer's decoder step {step.get('type')!r} is not supported here")


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise VocabularyError(f"the token {text!r} is not Unicode text") from error


def _byte_characters() -> dict[str, int]:
    """GPT-2's table: printable Latin-1 characters are themselves, U+0100 onwards are the other bytes."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    table.update({chr(256 + at): byte for at, byte in enumerate(others)})
    return table


_BYTE_OF = _byte_characters()


def _byte_level_bytes(name: str) -> bytes:
    try:
        return bytes([_BYTE_OF[character] for character in name])
    except KeyError:
        return _utf8(name)  # a name outside the table stands for itself, as byte-level decoders read it


def _piece_spelling(steps: list[Json], byte_fallback: bool) -> Spelling:
    replacements: list[tuple[str, str]] = []
    fused = False
    for step in steps:
        match step:
            case {"type": "Replace", "pattern": {"String": str(pattern)}, "content": str(content)} if not fused:
                replacements.append((pattern, content))
            case {"type": "Metaspace", "replacement": str(pattern)} if not fused:
                replacements.append((pattern, " "))
            case {"type": "ByteFallback"} if not fused:
                byte_fallback = True
            case {"type": "Fuse"}:
                fused = True
            case {"type": "Strip"} if fused:
                pass  # the ends of the whole text only
            case _:
                raise _unsupported(step)

    def spell(name: str) -> bytes:
        if byte_fallback and len(name) == 6 and (piece := _BYTE_PIECE.fullmatch(name)):
            return bytes([int(piece[1], 16)])
        for pattern, content in replacements:
            name = name.replace(pattern, content)
        return _utf8(name)

    return spell
