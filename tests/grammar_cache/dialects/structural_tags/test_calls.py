"""Calls of tools between structural tags, in special tokens and in their characters."""

from __future__ import annotations

import pytest

from tests.grammar_cache.dialects.structural_tags.formats import CALL, TOOLS, compiled, encoded
from tests.grammar_cache.dialects.structural_tags.matcher import Format, accepts


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("", True),
        ("no call", True),
        ('hm<tool_call>{"name":"f","arguments":{"n":1}}</tool_call>', True),
        ('hm<tool_call>{"name":"f","arguments":{"n":1}}</tool_call> and <think>', True),
        ("<tool_call>", False),
        ('<tool_call>{"name":"g"', False),
        ('<tool_call>{"name":"f","arguments":{"n":"1"}}</tool_call>', False),
        ('</tool_call><tool_call>{"name":"f","arguments":{"n":1}}</tool_call>', True),
    ],
)
def test_calls_in_characters_and_in_tokens(text: str, accepted: bool) -> None:
    """A tag may be written in its tokens or in their characters: both start a call, and both end it."""
    grammar = compiled(CALL, TOOLS)
    for tokens in (encoded(text), [ord(char) - 0x20 for char in text]):
        configuration = grammar.start
        for token in tokens:
            configuration = grammar.take(configuration, token) if configuration >= 0 else configuration
        assert (configuration >= 0 and grammar.accepts(configuration)) is accepted
        assert accepts(CALL, text) is accepted
    assert TOOLS.text(encoded(text)) == text.encode()


def test_a_call_once_begun_fits() -> None:
    """Free text takes no token, and a call may begin only where it can be completed."""
    grammar = compiled(CALL, TOOLS)
    assert grammar.minimum.tokens == 0
    forced = compiled({**CALL, "at_least_one": True, "stop_after_first": True}, TOOLS)
    need = forced.minimum.tokens
    assert grammar.mask(grammar.start, need)[99]
    assert not grammar.mask(grammar.start, need - 1)[99]
    assert accepts(CALL, TOOLS.text(forced.witness(forced.start)).decode())


def test_names_that_reach_beyond_a_trigger() -> None:
    """A token whose name holds a trigger and more is read as its characters are."""
    format: Format = {**CALL, "triggers": ["<tool"]}
    grammar = compiled(format, TOOLS)
    for text, accepted in (
        ('a<tool_call>{"name":"f","arguments":{"n":1}}</tool_call>', True),
        ("a<tool_call>", False),
        ("a<tool", False),
    ):
        configuration = grammar.start
        for token in encoded(text):
            configuration = grammar.take(configuration, token) if configuration >= 0 else configuration
        assert (configuration >= 0 and grammar.accepts(configuration)) is accepted


def test_special_tokens_as_formats() -> None:
    """Formats about tokens match tokens and no text; what ends a tag is no part of it."""
    thought = {"type": "tag", "begin": {"type": "token", "token": "<think>"}, "content": {"type": "any_tokens"},
               "end": {"type": "token", "token": 100}}  # fmt: skip
    triggered = {
        "type": "token_triggered_tags", "trigger_tokens": ["<tool_call>"], "at_least_one": True,
        "exclude_tokens": [102],
        "tags": [{"begin": {"type": "token", "token": 99}, "content": {"type": "regex", "pattern": "a+"}, "end": "b"}],
    }  # fmt: skip
    grammar = compiled({"type": "sequence", "elements": [thought, triggered]}, TOOLS)
    assert grammar.minimum.tokens == 5
    for tokens, accepted in (
        ([101, 5, 99, 101, 100, 99, 65, 66], True),
        ([101, 100, 99, 65, 66, 7, 101, 99, 65, 66], True),
        ([101, 100, 65, 66], False),
        ([*encoded("<thin"), 100], False),
    ):
        configuration = grammar.start
        for token in tokens:
            configuration = grammar.take(configuration, token) if configuration >= 0 else configuration
        assert (configuration >= 0 and grammar.accepts(configuration)) is accepted
