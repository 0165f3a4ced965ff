"""Members of an answer beside those of the reference: which are right, empty, cut, or hold odd characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from server.evaluation.json_values import same

Path: TypeAlias = tuple[str | int, ...]

MISSING: Final = object()
"""Value of a member that an answer doesn't have, and of an answer that is no JSON."""


@dataclass(frozen=True, slots=True)
class Members:
    """Counts of a reference's members: its values that hold no others, each by its path.

    `total`: all of them. `right`: those that the answer has with an equal value. `missing`: those that it doesn't have.
    `empty`: where it has an empty string, list or object, or null, and the reference something else. `cut`: where it
    has the beginning of the reference's string, ended inside a word. `odd`: strings of the answer, at any path, with a
    character above ASCII that neither the request nor the reference holds, or with a control character.
    """

    total: int
    right: int
    missing: int
    empty: int
    cut: int
    odd: int


def members(answer: Any, reference: Any, known: str) -> Members:
    """Counts for an answer, `MISSING` where there is none. `known`: text whose characters aren't odd."""
    pairs = [(value, _at(answer, path)) for path, value in leaves(reference)]
    expected = known + "".join(text for value, _ in pairs for text in _strings(value))
    texts = () if answer is MISSING else [text for _, value in leaves(answer) for text in _strings(value)]
    return Members(
        total=len(pairs),
        right=sum(same(found, value) for value, found in pairs if found is not MISSING),
        missing=sum(found is MISSING for _, found in pairs),
        empty=sum(_is_empty(found) and not _is_empty(value) for value, found in pairs),
        cut=sum(_is_cut(found, value) for value, found in pairs),
        odd=sum(any(_is_odd(character, expected) for character in text) for text in texts),
    )


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Values that hold no others, empty objects and lists among them, with their paths."""
    if not isinstance(value, dict | list) or not value:
        yield path, value
        return
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(inner, (*path, name))


def _at(value: Any, path: Path) -> Any:
    for name in path:
        held = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
        if name not in held:
            return MISSING
        value = value[name]
    return value


def _strings(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else ()


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)


def _is_cut(found: Any, value: Any) -> bool:
    if not (isinstance(found, str) and isinstance(value, str) and 0 < len(found) < len(value)):
        return False
    return value.startswith(found) and found[-1].isalnum() and value[len(found)].isalnum()


def _is_odd(character: str, expected: str) -> bool:
    """Whether a character is not of ASCII and not expected, or a control character but for tabs and line breaks."""
    if character in expected or character in "\n\t":
        return False
    return not character.isascii() or unicodedata.category(character) == "Cc"
