"""Names of places: a JSON Pointer into the schema, or URI, `#` and a JSON Pointer into a bundled one.

Knows no keyword.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # texts of help name places, and need no arrays
    from grammar_cache.dialects.json_schema.schema.loading import Json

_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


def child_pointer(pointer: str, *tokens: str | int) -> str:
    for token in tokens:
        pointer = f"{pointer}/{_escaped(token) if isinstance(token, str) else token}"
    return pointer


def split(place: str) -> tuple[str, str]:
    """The text that a place is in ("": the schema itself), and the pointer in it."""
    if not place or place.startswith("/"):
        return "", place
    uri, _, pointer = place.partition("#")
    return f"{uri}#", pointer


def tokens(pointer: str) -> list[str]:
    return [unescaped(token) for token in pointer.split("/")[1:]]


def unescaped(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~") if "~" in token else token


def _escaped(token: str) -> str:
    return token.replace("~", "~0").replace("/", "~1") if "~" in token or "/" in token else token


def along(root: Json, pointer: str) -> Iterator[tuple[str, Json]]:
    """Each step on the way of a pointer, by its token and what it leads to. Raises KeyError where it leads nowhere."""
    value = root
    for token in tokens(pointer):
        value = step(value, token)
        yield token, value


def step(value: Json, token: str) -> Json:
    """Value that a token leads to. Raises KeyError where it leads nowhere."""
    if isinstance(value, dict) and token in value:
        return value[token]
    if isinstance(value, list) and _INDEX.fullmatch(token) and int(token) < len(value):
        return value[int(token)]
    raise KeyError(token)
