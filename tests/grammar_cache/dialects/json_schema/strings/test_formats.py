"""The formats of the JSON Schema dialect, against readers of the standard library."""

from __future__ import annotations

import ipaddress
import json
import uuid
from datetime import date, datetime, time
from typing import Any

import pytest

from grammar_cache.dialects.json_schema.strings.formats import FORMATS
from grammar_cache.expression import Grammar
from tests.expression_matcher import matches
from tests.grammar_cache.dialects.grammar_sampler import Sampler
from tests.grammar_cache.dialects.json_schema.oracle import generates_value, is_valid


def _is_clock_with_offset(text: str) -> bool:
    return time.fromisoformat(text).tzinfo is not None


READERS: dict[str, Any] = {
    "date": date.fromisoformat,
    "time": _is_clock_with_offset,
    "date-time": datetime.fromisoformat,
    "uuid": uuid.UUID,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
}


@pytest.mark.parametrize("name", READERS)
def test_formats_are_read_by_the_standard_library(name: str) -> None:
    """Random texts of a format are read without complaint."""
    texts = Sampler(Grammar({"root": FORMATS[name]}, "root"), seed=3).texts(300)
    assert len(texts) > 100
    for text in texts:
        assert READERS[name](text.decode())


def test_dates_are_exactly_those_of_the_calendar() -> None:
    """Every day of some years is generated, and no day that isn't in them."""
    for year in (1, 4, 1900, 2000, 2023, 2024, 2100, 9999):
        for month in range(14):
            for day in (0, 1, 9, 10, 27, 28, 29, 30, 31, 32):
                text = f"{year:04}-{month:02}-{day:02}"
                try:
                    date.fromisoformat(text)
                    expected = True
                except ValueError:
                    expected = False
                assert matches(FORMATS["date"], text.encode()) is expected, text


RFC_TEXTS: dict[str, tuple[list[str], list[str]]] = {
    "date-time": (
        ["2023-04-15T19:30:00Z", "2024-02-29T00:00:00.123+05:30"],
        ["2023-04-15", "2023-04-15 19:30:00Z", "2023-02-29T00:00:00Z"],
    ),
    "time": (["19:30:00Z", "23:59:59.5-08:00"], ["24:00:00Z", "19:30:00", "19:30Z"]),
    "email": (["a@b", "joe.bloggs+x@example.com"], ["a", "@b", ".a@b", "a..b@c", "a@b..c", "a@-b"]),
    "hostname": (
        ["a", "www.example.com", "a-b.c", "a" * 63 + ".org"],
        ["", "-a", "a-", "a..b", "a_b", "a" * 64, "xn--a"],
    ),
    "ipv4": (["0.0.0.0", "255.255.255.255"], ["256.0.0.1", "1.2.3", "01.2.3.4"]),
    "ipv6": (
        ["::", "::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4"],
        ["1::2::3", "12345::", "1:2:3:4:5:6:7:8:9", "::1%eth0"],
    ),
    "uuid": (["2EB8AA08-aa98-11ea-b4aa-73b441d16380"], ["2eb8aa08aa9811eab4aa73b441d16380"]),
    "uri": (
        ["http://a.b/c?d#e", "urn:x:y", "mailto:a@b", "http://[::1]:80/"],
        ["//a/b", "a b", "http://a b", ":x", "http://[::1"],
    ),
    "uri-reference": (["", "a/b", "#x", "//a", "http://a"], ["a\\b", "%zz", "a b"]),
    "uri-template": (["http://a/{b}/{?c,d*}"], ["http://a/{b", "{}"]),
    "duration": (["P1Y2M3DT4H5M6S", "P3W", "PT1M"], ["P", "PT", "P1", "P1YT", "P1W2D"]),
    "json-pointer": (["", "/a~0b/", "/é"], ["a", "/~2", "/~"]),
    "relative-json-pointer": (["0", "1/a", "2#"], ["/a", "01", "-1/a"]),
}


@pytest.mark.parametrize("name", RFC_TEXTS)
def test_formats_follow_their_rfc(name: str) -> None:
    """Texts that the RFC allows and forbids are told apart, inside of a JSON string."""
    schema = {"type": "string", "format": name}
    good, bad = RFC_TEXTS[name]
    for text in good:
        assert generates_value(schema, text), text
        assert is_valid(schema, json.dumps(text))
    for text in bad:
        assert not generates_value(schema, text), text
