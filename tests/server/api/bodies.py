"""Bodies of megabytes, of every shape that a parser meets: none of them may cost much."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import TypeAlias

from tests.server.running import request

Shape: TypeAlias = Callable[[int], bytes]
"""Function from a size in bytes to a body of about as many."""


def filled(item: bytes, size: int, start: bytes = b"[", end: bytes = b"]") -> bytes:
    """A list of the same item."""
    return start + b",".join([item] * max(1, size // (len(item) + 1))) + end


def members(size: int, value: bytes = b"1", name: str = "k{}") -> bytes:
    """An object of many different names."""
    count = size // (len(name) + len(value) + 8)
    return b"{" + b",".join(f'"{name.format(number)}":'.encode() + value for number in range(count)) + b"}"


def text(unit: bytes, size: int) -> bytes:
    """A string, its escapes as they are given."""
    return b'"' + unit * (size // len(unit)) + b'"'


VALUES: Mapping[str, Shape] = {
    "ones": lambda size: filled(b"1", size),
    "empty lists": lambda size: filled(b"[]", size),
    "empty objects": lambda size: filled(b"{}", size),
    "small objects": lambda size: filled(b'{"a":1}', size),
    "messages": lambda size: filled(b'{"role":"user","content":"x"}', size),
    "4096 messages": lambda size: filled(b'{"role":"user","content":%s}' % text(b"x ", size // 4_200), size - 200_000),
    "parts": lambda size: filled(b'{"type":"text","text":"x"}', size),
    "nulls": lambda size: filled(b"null", size),
    "texts": lambda size: filled(b'"abcdefgh"', size),
    "different texts": lambda size: b"[" + b",".join(b'"%d"' % number for number in range(size // 10)) + b"]",
    "long texts": lambda size: filled(text(b"a", 80), size),
    "deep lists": lambda size: b"[" * (size // 2) + b"]" * (size // 2),
    "deep objects": lambda size: b'{"a":' * (size // 6) + b"1" + b"}" * (size // 6),
    "allowed depth": lambda size: filled(b"[" * 500 + b"]" * 500, size),
    "members": members,
    "members with null": lambda size: members(size, b"null"),
    "long names": lambda size: members(size, name="k" * 200 + "{}"),
    "one name often": lambda size: filled(b'"a":1', size, b"{", b"}"),
    "a long name": lambda size: b"{" + text(b"n", size) + b":1}",
    "prose": lambda size: text(b"a word, or two. ", size),
    "letters": lambda size: text(b"x", size),
    "spaces": lambda size: text(b" ", size),
    "signs": lambda size: text(b"[{,:", size),
    "accents": lambda size: text("é".encode(), size),
    "combining": lambda size: text("e\u0301".encode(), size),
    "emoji": lambda size: text("😀".encode(), size),
    "one emoji": lambda size: text("😀".encode(), 4)[:-1] + text(b"x", size)[1:],
    "escapes": lambda size: text(rb"\u00e9", size),
    "quotes": lambda size: text(rb"\"", size),
    "backslashes": lambda size: text(rb"\\", size),
    "pairs": lambda size: text(rb"\ud83d\ude00", size),
    "lone surrogates": lambda size: text(rb"\ud83d", size),
    "nul": lambda size: text(rb"\u0000", size),
    "digits": lambda size: b"9" * size,
    "fraction": lambda size: b"0." + b"123456789" * (size // 9),
    "long integers": lambda size: filled(b"9" * 4_300, size),
    "integers": lambda size: filled(b"1234567890123", size),
    "floats": lambda size: filled(b"1.5e-300", size),
    "exponents": lambda size: filled(b"1e999", size),
    "nothing but white space": lambda size: b" " * size,
    "white space around": lambda size: b"[" + b" \n" * (size // 2) + b"]",
    "unended": lambda size: b'"' + b"a" * size,
    "no UTF-8": lambda size: b'"' + b"\xff" * size + b'"',
}
PLACES = (
    "", "messages", "message", "content", "role", "stop", "user", "metadata", "model", "n", "seed", "max_tokens",
    "grammar", "json_schema", "choice", "regex", "schema", "named", "swyb", "swyb.start", "tools", "guided_json",
    "unknown", "response_format", "stream_options",
)  # fmt: skip


def body(place: str, value: bytes) -> bytes:
    """A chat request with the value in a place; the empty place is the whole body."""
    mark = "\x00here\x00"
    fields: dict[str, object] = {
        "message": {"messages": [mark]},
        "content": {"messages": [{"role": "user", "content": mark}]},
        "role": {"messages": [{"role": mark, "content": "x"}]},
        "choice": {"response_format": {"type": "choice", "choice": mark}},
        "regex": {"response_format": {"type": "regex", "regex": mark}},
        "schema": {"response_format": {"type": "json_schema", "json_schema": {"schema": mark}}},
        "named": {"grammar": {"name": mark}},
        "swyb.start": {"swyb": {"start": mark}},
    }.get(place, {place: mark})  # type: ignore[assignment]
    if not place:
        return value
    whole = json.dumps(request(**{"max_tokens": 4, **fields})).encode()
    return whole.replace(json.dumps(mark).encode(), value)


def some(seed: int, size: int) -> tuple[str, bytes]:
    """A random one: its name, and what is sent. Two shapes side by side in one of a few."""
    random = Random(seed)
    place, shape = random.choice(PLACES), random.choice(list(VALUES))
    other, second = random.choice(PLACES[1:]), random.choice(list(VALUES))
    if random.random() < 0.8 or not place:
        return f"{shape} as {place or 'body'}", body(place, VALUES[shape](size))
    whole = body(place, VALUES[shape](size // 2))
    return f"{shape} as {place}, {second} as {other}_", whole[:-1] + b',"%s_":' % other.encode() + VALUES[second](
        size // 2
    ) + b"}"
