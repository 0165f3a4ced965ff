"""Names of places: a JSON Pointer into the schema, or URI, `#` and a JSON Pointer into a bundled one.

Knows no keyword.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from grammar_cache.dialects.json_schema.loading import Json

_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


def child_pointer(pointer: str, *tokens: str | int) -> str:
    return pointer + "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)


def split(place: str) -> tuple[str, str]:
    """The text that a place is in ("": the schema itself), and the pointer in it."""
    if not place or place.startswith("/"):
        return "", place
    uri, _, pointer = place.partition("#")
    return f"{uri}#", pointer


def tokens(pointer: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def along(root: Json, pointer: str) -> Iterator[tuple[str, Json]]:
    """Each step on the way of a pointer, by its token and what it leads to. Raises KeyError where it leads nowhere."""
    value = root
    for token in tokens(pointer):
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and _INDEX.fullmatch(token) and int(token) < len(value):
            value = value[int(token)]
        else:
            raise KeyError(token)
        yield token, value
