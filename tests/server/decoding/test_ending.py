"""A beam that is frozen at its first complete text, and one that may go on."""

import pytest

from grammar_cache.expression import Bytes, Grammar, Repeat
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.parameters import Ending, Parameters
from tests.server.decoding.grammars import DYCK, DYCK_VOCABULARY, LETTERS, compiled
from tests.server.decoding.test_decoder import always, decode

GRAMMAR = compiled(LETTERS, Vocabulary([b"a", b"b", b"ab", None], [3]))


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_frozen_at_the_first_complete_text(width: int, temperature: float) -> None:
    """A model that never wants to end is cut where its text first is complete, without an end token."""
    parameters = Parameters(budget=6, beam_width=width, temperature=temperature, ending="freeze")
    answer, _, asked = decode(GRAMMAR, parameters, always(-9, -9, 9, -99))
    assert (answer.text, answer.tokens_used, answer.finish_reason, asked) == (b"ab", 1, "stop", 1)


def test_candidates_for_the_end_may_go_on() -> None:
    """The model writes by default until its budget is spent."""
    assert decode(GRAMMAR, Parameters(budget=6), always(-9, -9, 9, -99))[0].text == b"ab" * 6


def test_frozen_texts_hold_their_place() -> None:
    """A complete beam stays among the M, and wins if what goes on loses more."""
    grammar = compiled(DYCK, DYCK_VOCABULARY)
    model = always(0.2, 0.0, 0.0, 0.0)
    for ending in ("freeze", "candidate"):
        found = decode(grammar, Parameters(budget=9, beam_width=2, promotion="none", ending=ending), model)[0]
        assert found.text == b"x"


@pytest.mark.parametrize(("ending", "text"), [("freeze", b""), ("candidate", b"a")])
def test_a_language_with_the_empty_text(ending: Ending, text: bytes) -> None:
    """Frozen, it has no other answer."""
    grammar = compiled(Grammar({"root": Repeat(Bytes(b"a"), 0, 1)}, "root"), Vocabulary([b"a", None], [1]))
    answer, _, _ = decode(grammar, Parameters(budget=3, ending=ending), always(1, 0))
    assert answer.text == text
