"""Free text, byte by byte, against a search in the text read so far."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grammar_cache import Limits, UnsupportedFeature
from grammar_cache.automata.builder import minimal_automaton
from grammar_cache.dialects.free_text import FreeText, text_without
from grammar_cache.expression import Bytes, Expression
from tests.strategies import examples

LETTERS = ["a", "b", "é", "è", "€", "₭", "\u0800", "\ud7ff", "\ue000", "𝄞", "𝄟", "\U0010ffff"]
"""Characters of every length, some of which begin alike, and those at the edges of what UTF-8 allows."""
WORDS = st.text(st.sampled_from(LETTERS), min_size=1, max_size=3)


@given(st.lists(WORDS, max_size=3, unique=True), st.lists(WORDS, max_size=2, unique=True), st.booleans(), st.data())
@examples(150)
def test_texts_are_those_that_a_search_finds(
    triggers: list[str], excludes: list[str], loops: bool, data: st.DataObject
) -> None:
    """Each trigger is followed by its number, text is free before it and, if it loops, behind."""
    words = [*triggers, *excludes]
    assume(not any(one in other for at, one in enumerate(words) for to, other in enumerate(words) if at != to))
    free = FreeText(triggers, excludes, Limits())
    read = _reader(free.then(lambda trigger, _: Bytes(b"%d" % triggers.index(trigger)), loops=loops))
    without = _reader(free.rest())
    pieces = [*LETTERS, *words, *(f"{trigger}{at}" for at, trigger in enumerate(triggers))]
    for _ in range(20):
        text = "".join(data.draw(st.lists(st.sampled_from(pieces), max_size=6)))
        assert read(text.encode()) == _fits(text, triggers, excludes, loops=loops)
        assert without(text.encode()) == (not any(word in text for word in words))


@given(st.lists(WORDS, min_size=1, max_size=3), st.binary(max_size=6))
@examples(300)
def test_texts_are_characters(excludes: list[str], data: bytes) -> None:
    """Bytes that are no UTF-8 are no text, whatever is excluded."""
    try:
        fits = not any(word in data.decode() for word in excludes)
    except UnicodeDecodeError:
        fits = False
    assert _reader(text_without(excludes, Limits()))(data) == fits


def test_all_begun_characters() -> None:
    """Every two bytes, and those with a third or fourth at the edges of what UTF-8 allows, are text if they decode."""
    read = _reader(text_without(["€"], Limits()))
    edges = (0x7F, 0x80, 0xBF, 0xC0)
    longer = (*product(range(256), range(256), edges), *product(range(0xEF, 0x100), range(256), edges, edges))
    for one in map(bytes, (*product(range(256), repeat=2), *longer)):
        try:
            fits = "€" not in one.decode()
        except UnicodeDecodeError:
            fits = False
        assert read(one) == fits


def test_an_excluded_text_may_not_start_something() -> None:
    """A text that starts something and is excluded, or holds another, is refused."""
    for triggers, excludes in ((["a"], ["a"]), (["ab"], ["b"]), (["b", "abc"], [])):
        with pytest.raises(UnsupportedFeature):
            FreeText(triggers, excludes, Limits())


def _fits(text: str, triggers: list[str], excludes: list[str], *, loops: bool) -> bool:
    """Whether the text is free text with triggers, each followed by its number: by its first occurrence in the text."""
    while True:
        met = [(text.find(word) + len(word), word) for word in (*triggers, *excludes) if word in text]
        if not met:
            return True
        end, word = min(met)
        if word in excludes or not text.startswith(str(triggers.index(word)), end):
            return False
        text = text[end + 1 :]
        if not loops:
            return not text


def _reader(expression: Expression) -> Callable[[bytes], bool]:
    automaton = minimal_automaton(expression, 10_000, 10)
    to = np.full((automaton.states, 256), -1)
    for state, low, high, behind in automaton.edges.tolist():
        to[state, low : high + 1] = behind
    ends = set(automaton.ends.tolist())

    def reads(data: bytes) -> bool:
        state = 0
        for byte in data:
            state = int(to[state, byte])
            if state < 0:
                return False
        return state in ends

    return reads
