"""Grammars that are full are begun anew under answers: nobody sees it in the texts."""

from __future__ import annotations

import numpy as np
import pytest

from grammar_cache import Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.grammars.shipped import shipped
from server.decoding.decoder import Decoder
from server.decoding.forced_text import ForcedText
from server.decoding.parameters import Parameters
from tests.server.decoding.grammars import longest_match
from tests.server.decoding.stepping import advance

PALINDROMES = Constraint("gbnf", 'root ::= "a" root "a" | "b" root "b" | "c" root "c" | ""')
VOCABULARY = Vocabulary([b"a", b"b", b"c", b"ab", b"ba", b"cc", b"abc", b"cba", None], [8])
ROOMY, SMALL = Limits(), Limits(memory_bytes=20_000)


def texts(limits: Limits, parameters: Parameters, *, over_text: bool) -> tuple[list[bytes], int]:
    """Texts of a model of noise, and how many copies of the grammar they went through."""
    grammar = compile_grammar(PALINDROMES, VOCABULARY, limits)
    language = ForcedText(grammar, longest_match(VOCABULARY)) if over_text else grammar
    decoder, rng, copies = Decoder(language, parameters), np.random.default_rng(7), 1
    while not decoder.answers:
        before = decoder.language
        decoder.renew()
        copies += decoder.language is not before
        advance(decoder, rng.normal(size=(len(decoder.wanted.places), VOCABULARY.size)))
    assert all(answer.complete and answer.tokens_used <= parameters.budget for answer in decoder.answers)
    return [answer.text for answer in decoder.answers], copies


@pytest.mark.parametrize("over_text", [False, True])
@pytest.mark.parametrize("beams", [1, 3])
def test_texts_do_not_depend_on_when_a_grammar_is_begun_anew(beams: int, over_text: bool) -> None:
    """A grammar with room for a few configurations is left again and again, with all beams."""
    temperature = 0.8 if beams == 1 else 0.0
    parameters = Parameters(90, beams, beams, temperature=temperature, seed=5)
    roomy, one = texts(ROOMY, parameters, over_text=over_text)
    small, several = texts(SMALL, parameters, over_text=over_text)
    assert roomy == small
    assert one == 1 < several


def test_sql_under_hostile_logits_stays_bounded() -> None:
    """Bytes of what 64 answers of noise lead to never go further than a step beyond the limit, in several copies."""
    pieces = [b"SELECT ", b" FROM ", b" WHERE ", b" AND ", b" = ", b"COUNT(", b"((", b"))", b", ", b"name"]
    vocabulary = Vocabulary([*(bytes([byte]) for byte in range(32, 127)), *pieces, None], [95 + len(pieces)])
    grammar = compile_grammar(shipped("sql"), vocabulary, Limits(memory_bytes=1 << 20))
    rng, largest, epochs = np.random.default_rng(3), 0, {grammar}
    for seed in range(64):
        decoder = Decoder(grammar.renewed(), Parameters(40, temperature=1.0, seed=seed))
        while not decoder.answers:
            decoder.renew()
            advance(decoder, rng.normal(size=(1, vocabulary.size)) * 9)
            largest = max(largest, grammar.current.size_bytes)
        assert all(answer.complete and answer.tokens_used <= 40 for answer in decoder.answers)
        epochs.add(grammar.current)
    assert len(epochs) > 4
    assert largest < 2 << 20
