"""The formats against readers that share no code with them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import cache

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import FormatError

from grammar_cache.dialects.json_schema.strings.formats import FORMATS
from grammar_cache.expression import Grammar
from tests.expression_matcher import matches
from tests.grammar_cache.dialects.grammar_sampler import Sampler
from tests.grammar_cache.dialects.json_schema.oracle import generates_value, is_valid

TEXTS = 300
MISREAD = {
    **dict.fromkeys(("iri", "iri-reference"), r".*([\U00010000-\U0010ffff]|\[[^]]*::)"),
    "relative-json-pointer": "[0-9]*0[0-9]",
    "uri-template": r".*\{[^}]*(%|:[0-9]{4})",
}
"""Texts that the RFC allows and the checkers refuse: characters from U+10000 on and most addresses with `::`, a zero
inside a number, %-encoded names and prefixes of 1000 on."""


@cache
def texts(name: str) -> list[str]:
    """Random texts of a format."""
    drawn = Sampler(Grammar({"root": FORMATS[name]}, "root"), seed=7).texts(TEXTS)
    return sorted(text.decode() for text in drawn)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_reference_validator_agrees(name: str) -> None:
    """Every text of a format is one to the checker of `jsonschema`, where the packages for it are installed."""
    checker = Draft202012Validator.FORMAT_CHECKER
    if name not in checker.checkers:
        pytest.skip(f"jsonschema has no checker of {name} here")
    found = texts(name)
    assert len(found) > TEXTS // 10
    for text in found:
        if name in MISREAD and re.match(MISREAD[name], text):
            continue
        try:
            checker.check(text, name)
        except FormatError as error:
            raise AssertionError(text) from error


def test_regexes_are_read_by_python() -> None:
    """Every text of the format `regex` is a pattern to `re`, without so much as a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in texts("regex"):
            re.compile(text)


PATTERNS = [
    *("", "^[a-z0-9]+(?:-[a-z0-9]+)*$", "^\\d{4}-\\d{2}$", "a|b", "^.{1,63}$", "[^\\]]", "\\u00e9", "(a(b(c)))?"),
    *("^/[^/]+/$".replace("/", "\\/"), "x*?", "[\\w.]{2,}", "é+", "{2}"[:0], "a{0,0}", "[A-Fa-f0-9]{12}"),
]
NO_PATTERNS = [
    *("(", ")", "a)", "[a", "]", "a**", "+", "{1}", "a{2,1}", "[z-a]", "\\", "(?<n>a)", "(?", "^(abc]", "a{12,3}"),
    *("\\1", "(?=a)", "\\p{L}", "[a--b]", "\\uD800", "^*"),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_common_patterns_are_regexes(pattern: str) -> None:
    """Patterns as schemas have them are generated."""
    re.compile(pattern)
    assert generates_value({"type": "string", "format": "regex"}, pattern)


@pytest.mark.parametrize("pattern", NO_PATTERNS)
def test_what_some_reader_refuses_is_no_regex(pattern: str) -> None:
    """A text that isn't a pattern, or not to all readers, is not generated."""
    assert not generates_value({"type": "string", "format": "regex"}, pattern)


INTERNATIONAL: dict[str, tuple[list[str], list[str]]] = {
    "iri": (
        [
            *("http://ƒøø.ßår/?∂éœ=πîx#πîüx", "http://a/\U00020000", "urn:é"),
            *("a:\U00010000", "a:\U0001fffd", "a:\U000e1000", "a:\U000efffd", "a:?\U000f0000", "a:?\U0010fffd"),
        ],
        [
            *("http://a/\ue000", "http://a/\ufdd0", "/é", "http://a b", "http://a/\\é", "http://a/\U000e0001"),
            *("a:\U0001fffe", "a:\U000e0fff", "a:\U000efffe", "a:\U000f0000", "a:#\U000f0000", "a:?\U0010fffe"),
        ],
    ),
    "iri-reference": (["//ƒøø.ßår/?∂éœ=πîx#πîüx", "/âππ", "é:"[:1], "http://a?\ue000"], ["\\\\é", "%é", "é:"]),
    "idn-email": (["é@a.b", "실례@example.com", "a@b"], ["é", "@é", "é@", ".é@a", "é..é@a"]),
    "uri-template": (["/é{a}", "'{b}'"], ["/é{é}", "{'}"]),
}


@pytest.mark.parametrize("name", INTERNATIONAL)
def test_characters_beyond_ascii(name: str) -> None:
    """The international formats have the characters that their RFC adds, and no others."""
    good, bad = INTERNATIONAL[name]
    for text in good:
        assert matches(FORMATS[name], text.encode()), text
    for text in bad:
        assert not matches(FORMATS[name], text.encode()), text


def _local_part(text: str) -> bool:
    return 1 <= len(text.rpartition("@")[0].encode()) <= 64


def _labels(text: str) -> bool:
    labels = text.rpartition("@")[2].split(".")
    return len(".".join(labels)) <= 253 and all(
        re.fullmatch("[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?", label) and label[2:4] != "--" for label in labels
    )


LENGTHS: dict[str, Callable[[str], bool]] = {
    "hostname": _labels,
    "idn-hostname": _labels,
    "email": lambda text: _local_part(text) and _labels(text),
    "idn-email": lambda text: _local_part(text) and _labels(text),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_lengths_are_kept(name: str) -> None:
    """No label, host name or local part is longer than the RFCs allow."""
    assert all(LENGTHS[name](text) for text in texts(name))


def test_unknown_formats_say_nothing() -> None:
    """A format that the standard doesn't have leaves any string."""
    schema = {"type": "string", "format": "phone"}
    assert generates_value(schema, "?") and is_valid(schema, '"?"')
