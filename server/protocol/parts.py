"""Contents that are given in parts, of which only texts are understood."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pydantic_core import PydanticCustomError, PydanticKnownError

from server.protocol.members import LONGEST_TOLD

PARTS = 4_096
"""Parts of one turn's content."""

FOREIGN_PART = "foreign_part"
"""The type of the validation error for a part that is no text."""


def joined(content: object, texts: Mapping[str, str], idle: Collection[str]) -> object:
    """The text of a content given in parts, one after the other with nothing between them.

    `texts`: types of parts that are text, and the member that holds it. `idle`: members that change no answer.
    """
    if not isinstance(content, list):
        return content
    if len(content) > PARTS:
        context = {"field_type": "List", "max_length": PARTS, "actual_length": len(content)}
        raise PydanticKnownError("too_long", context)
    return "".join(_text_of(part, texts, idle) for part in content)


def _text_of(part: object, texts: Mapping[str, str], idle: Collection[str]) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str):
        raise PydanticCustomError("content_part", "a part is an object with a type and a text")
    if kind not in texts:
        told = {"kind": kind[:LONGEST_TOLD], "text": next(iter(texts))}
        message = "parts of type {kind} are not supported, the model reads text: send parts of type {text}"
        raise PydanticCustomError(FOREIGN_PART, message, told)
    name = texts[kind]
    text = part.get(name)
    if not isinstance(text, str) or any(part[other] is not None for other in part.keys() - {"type", name, *idle}):
        raise PydanticCustomError("content_part", "a text part has a type and a text, and nothing else")
    return text
