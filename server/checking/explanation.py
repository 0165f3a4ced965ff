"""Explanation of a valid text that is not generated: what of its writing would have to be otherwise.

A JSON text is compared with a text of the same value that the grammar derives, if one is found: aspect by aspect,
whatever can stay as it is stays. Small changes are tried on other texts. It takes the time of many judgements.
"""

from __future__ import annotations

import json
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import get_args

from server.checking import json_text, member_order
from server.checking.json_text import Aspect
from server.checking.membership import Recogniser

ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
_MOST_DIGITS = 40
"""Beyond them a number isn't written out: no grammar here has so many without an exponent."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """`because`: in words. `instead`: a text of the same value that is generated, where one was found."""

    because: str
    instead: str | None = None


def of_json(recogniser: Recogniser, schema: object, text: bytes) -> Explanation:
    """Explanation of a valid JSON text that is not accepted. `schema`: numbers as they are written. Raises
    LimitExceeded.
    """
    decoded = text.decode(json.detect_encoding(text))
    own = json_text.read(decoded)
    style = member_order.Style(",", ":", _spellings(schema))
    value = member_order.in_schema_order(member_order.read(decoded), schema)
    found = member_order.generated(recogniser.table, value, style)
    if found is None:
        return Explanation(_stuck(recogniser, member_order.write(value)))
    other = json_text.read(found)
    needed = frozenset(ASPECTS)
    for aspect in ASPECTS:
        if _accepts(recogniser, json_text.mixed(own, other, needed - {aspect})):
            needed -= {aspect}
    because = [_NAMES[aspect] for aspect in ASPECTS if aspect in needed]
    because += _around(decoded, text)
    return Explanation(
        f"the same value is generated, with another {' and '.join(because)}",
        _text(json_text.mixed(own, other, needed)),
    )


def of_text(recogniser: Recogniser, text: bytes) -> Explanation | None:
    """Explanation of any text that is not accepted: a small change that would do, if one is found. Raises
    LimitExceeded.
    """
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        return Explanation("it is not UTF-8")
    for change, changed in _changes(decoded):
        if changed != decoded and recogniser.judge(changed.encode()).accepted:
            return Explanation(f"it is accepted {change}", changed)
    return None


_NAMES: dict[Aspect, str] = {
    "white space": "white space",
    "strings": "spelling of its strings",
    "numbers": "spelling of its numbers",
    "order": "order of its members",
    "repetition": "single member in place of those that repeat a name",
}


def _around(decoded: str, text: bytes) -> list[str]:
    """Differences before and after the tree, or in how it is encoded."""
    found = []
    if decoded.rstrip(" \t\r\n") != decoded:
        found.append("end: nothing follows the value")
    if text != decoded.encode():
        found.append("encoding: UTF-8 without a mark")
    return found


def _accepts(recogniser: Recogniser, node: json_text.Node) -> bool:
    return recogniser.judge(_text(node).encode()).accepted


def _text(node: json_text.Node) -> str:
    return "".join(piece.text for piece in json_text.write(node))


def _spellings(schema: object) -> member_order.Spellings:
    """The numbers of the schema of the same value, then the plain way, then as it is written."""
    listed: defaultdict[Decimal, list[str]] = defaultdict(list)
    todo = [schema]
    while todo:
        part = todo.pop()
        if isinstance(part, member_order.Number):
            with suppress(ArithmeticError):  # an exponent of 20 digits
                listed[Decimal(part)].append(str(part))
        elif isinstance(part, dict):
            todo += part.values()
        elif isinstance(part, list):
            todo += part

    def spellings(number: str) -> Iterable[str]:
        try:
            value = Decimal(number)
        except ArithmeticError:  # an exponent of 20 digits
            return (number,)
        return dict.fromkeys([number, *_plain(value), *listed.get(value, ())])

    return spellings


def _plain(value: Decimal) -> Iterable[str]:
    if not value:
        return ("0", "0.0")
    if not -_MOST_DIGITS < value.adjusted() < _MOST_DIGITS:
        return ()
    plain = f"{value:f}"
    short = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return (short,) if "." in short else (short, f"{short}.0")


def _stuck(recogniser: Recogniser, text: str) -> str:
    """Difference where no text of the value was found: the place where one of them ends."""
    end = recogniser.judge(text.encode()).offset
    pieces = list(json_text.write(json_text.read(text)))
    for piece in pieces:
        end -= len(piece.text.encode())
        if end < 0:
            break
    where = piece.pointer or "/"
    return (
        f"no way of writing this value is generated, as far as was tried: one goes on to {where}. What is generated is"
        " a subset of what is valid (docs/reference/json-schema.md)"
    )


def _changes(text: str) -> Iterable[tuple[str, str]]:
    yield "without the line break at its end", text.removesuffix("\n").removesuffix("\r")
    yield "with a line break at its end", text + "\n"
    yield "without white space at its ends", text.strip()
    yield "without the byte order mark", text.removeprefix("\ufeff")
    yield "with line breaks of one character (LF)", text.replace("\r\n", "\n")
    yield "with single spaces for all white space", " ".join(text.split())
    yield "without white space", "".join(text.split())
    yield "in lower case", text.lower()
    yield "in upper case", text.upper()
    yield "in Unicode's composed form (NFC)", unicodedata.normalize("NFC", text)
    yield "in Unicode's decomposed form (NFD)", unicodedata.normalize("NFD", text)
