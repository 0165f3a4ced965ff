"""Tokens become the answer that the server's own decoder would have made of them, or none."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from grammar_cache import CompiledGrammar, Constraint, Vocabulary, compile_grammar
from grammar_cache.hosts.cursor import Cursor
from server.backends.backend import Unavailable, Work
from server.backends.vllm.frontend.transcript import Ended, Transcript
from server.decoding.answer import Answer, Interruption
from server.decoding.decoder import Decoder
from server.decoding.language import AnyText, Language
from server.decoding.parameters import Ending, Parameters
from server.engines.contract import EngineError
from tests.server.decoding.stepping import advance

STOP = 9
TOKENS = [b"(", b")", b"x", b"()", "é".encode(), b"\xc3", b"\xa9", b"ab", None, None]
VOCABULARY = Vocabulary(TOKENS, [STOP])
NESTED = 'root ::= "(" root ")" | "x"'
CONSTRAINTS = [NESTED, "root ::= [a-zé]*", 'root ::= "ab" | "abab"', 'root ::= "x"* "("?', "root ::= [^)]*"]
STOP_TEXTS = [b"x", b"()", b")x", "é(".encode()]


@pytest.fixture(scope="module", params=[None, *CONSTRAINTS])
def grammar(request: pytest.FixtureRequest) -> CompiledGrammar | None:
    return request.param and compile_grammar(Constraint("gbnf", request.param), VOCABULARY)


def decoded(
    grammar: CompiledGrammar | None, parameters: Parameters, logits: list[NDArray[np.float32]]
) -> tuple[Answer, list[int]]:
    """The decoder's answer, and every token that it took, an end token too."""
    language: Language = grammar or AnyText(VOCABULARY)
    decoder = Decoder(language, parameters)
    rows = iter(logits)
    while decoder.answer is None:
        advance(decoder, next(rows)[None, :])
    answer = decoder.answer
    stopped = answer.tokens_used > len(answer.tokens)
    return answer, [*answer.tokens, *([STOP] if stopped else [])]


def is_text(data: bytes) -> bool:
    """Whether it is UTF-8: nothing else has whole code points."""
    return data.decode(errors="replace").encode() == data


def in_pieces(tokens: list[int], cuts: list[int]) -> Iterator[list[int]]:
    """The tokens as an engine might hand them over: one or several at a time."""
    at = 0
    for size in [*cuts, *[1] * len(tokens)]:
        yield tokens[at : at + size]
        at += size


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_the_answer_is_that_of_the_decoder(grammar: CompiledGrammar | None, data: st.DataObject) -> None:
    """Field by field, from the least budget on; pieces are whole code points and make up the text."""
    least = grammar.minimum.tokens if grammar else 1
    budget = data.draw(st.integers(max(1, least), least + 6))
    stops = () if grammar else tuple(data.draw(st.lists(st.sampled_from(STOP_TEXTS), max_size=2)))
    endings: list[Ending] = ["candidate", "freeze"] if grammar else ["candidate"]  # any text would freeze
    ending = data.draw(st.sampled_from(endings))
    parameters = Parameters(budget=budget, stops=stops, ending=ending, jump_forward=False)
    rows = st.lists(st.floats(-5, 5, width=32), min_size=len(TOKENS), max_size=len(TOKENS))
    logits = [np.array(row, np.float32) for row in data.draw(st.lists(rows, min_size=budget, max_size=budget))]
    expected, tokens = decoded(grammar, parameters, logits)
    transcript = Transcript(Work((1,), grammar, parameters), VOCABULARY)
    told = []
    for piece in in_pieces(tokens, data.draw(st.lists(st.integers(1, 3), max_size=3))):
        transcript.add(piece)
        told.append(transcript.news())
        assert expected.text.startswith(b"".join(told))
        assert transcript.ended or not is_text(expected.text) or is_text(told[-1])
    # Masks are tight at least where the budget has chosen.
    more = data.draw(st.sets(st.integers(0, budget))) if grammar is not None else set()
    tight = tuple(sorted(more | set(expected.forced_at)))
    transcript.note_tight(tight)
    answer = transcript.answer()
    assert b"".join(told) + transcript.news() == expected.text == answer.text
    assert (answer.tokens, answer.tokens_used, answer.complete, answer.finish_reason) == (
        expected.tokens,
        expected.tokens_used,
        expected.complete,
        expected.finish_reason,
    )
    kept = tuple(place for place in tight if place < expected.tokens_used)
    assert (answer.forced_at, answer.tight_steps) == (kept, None if grammar is None else len(kept))
    assert answer.budget_forced_tokens == (0 if grammar is None else None)
    assert answer.budget_affected == (bool(kept) or expected.budget_affected)


def transcript(grammar: str, budget: int) -> Transcript:
    compiled = compile_grammar(Constraint("gbnf", grammar), VOCABULARY)
    return Transcript(Work((1,), compiled, Parameters(budget=budget)), VOCABULARY)


@pytest.mark.parametrize("token", [1, 3, 8, 10, 1 << 20])
def test_a_token_that_leaves_the_grammar_is_an_error(token: int) -> None:
    """Tokens of the vocabulary, without bytes, and beyond it: nothing is skipped under a grammar."""
    found = transcript(NESTED, 5)
    found.add([0])
    with pytest.raises(EngineError, match="doesn't allow"):
        found.add([token])


def test_an_end_token_too_soon_is_an_error() -> None:
    found = transcript(NESTED, 5)
    with pytest.raises(EngineError, match="before it was complete"):
        found.add([0, 2, STOP])


def test_tokens_that_end_too_soon_are_an_error() -> None:
    """Whatever the engine says of why it ended."""
    found = transcript(NESTED, 3)
    found.add([0, 2])
    with pytest.raises(EngineError, match="before it was complete"):
        found.answer()
    found.add([1])
    assert found.ended
    assert found.answer().text == b"(x)"


def test_what_may_follow_nothing_has_ended() -> None:
    """An answer that nothing can follow costs no end token, and one that is complete at first no token at all."""
    found = transcript('root ::= "ab"', 5)
    found.add([7, STOP])
    assert (found.ended, found.answer().tokens_used) == (True, 1)
    assert transcript('root ::= ""', 5).ended


@pytest.mark.parametrize("budget", range(3, 9))
def test_an_engine_that_ends_leaves_a_complete_answer(budget: int) -> None:
    """The witness goes on from what has come, within the budget; an answer of which nothing has come isn't made up."""
    compiled = compile_grammar(Constraint("gbnf", NESTED), VOCABULARY)
    reasons: dict[Interruption, type[Exception]] = {"shutdown": Unavailable, "failure": Ended}
    for reason, error in reasons.items():
        for pieces in (True, False):
            work = Work((1,), compiled, Parameters(budget=budget), pieces=pieces)
            found = Transcript(work, VOCABULARY)
            if not pieces:
                with pytest.raises(error):
                    found.interrupted(Ended(reason, "it has ended"))
            found.add([0])
            answer = found.interrupted(Ended(reason, "it has ended"))
            assert answer.text in (b"(x)", b"()") and answer.text.startswith(b"(")
            assert (answer.complete, answer.finish_reason, answer.interrupted) == (True, "stop", reason)
            assert answer.tokens_used <= budget
            assert (answer.budget_affected, answer.budget_ended) == (None, None)


@pytest.mark.parametrize("seed", range(20))
def test_an_engine_that_ends_near_the_end_of_the_budget(seed: int) -> None:
    """Masks let tokens through that span rules, behind which the additive witness is too long: another one fits."""
    spelled = [b"[", b"]", b"(", b")", b"a", b"b", b"c", b"]abc", b"abc"]
    vocabulary, rng = Vocabulary([*spelled, None], [9]), random.Random(seed)
    text = 'root ::= x x\nx ::= "abc" | "(" x ")" | "[" x x "]"'
    compiled = compile_grammar(Constraint("gbnf", text), vocabulary)
    budget = rng.randrange(compiled.minimum.tokens, 16)
    work, cursor = Work((1,), compiled, Parameters(budget=budget), pieces=True), Cursor(compiled, budget)
    taken: list[int] = []
    while cursor.tokens_left:
        found = Transcript(work, vocabulary)
        if taken:
            found.add(taken)
            answer = found.interrupted(Ended("failure", "it has ended"))
            assert answer.complete and answer.tokens_used <= budget
        allowed = [token for token in range(9) if cursor.allows(token)]
        if not allowed:
            break
        taken.append(rng.choice(allowed))
        cursor.accept(taken[-1])


def test_a_plain_answer_is_cut_by_the_server_and_by_no_failure() -> None:
    found = Transcript(Work((1,), None, Parameters(budget=4)), VOCABULARY)
    found.add([2])
    with pytest.raises(Ended):
        found.interrupted(Ended("failure", "it has ended"))
    answer = found.interrupted(Ended("shutdown", "it has ended"))
    assert (answer.text, answer.finish_reason, answer.interrupted) == (b"x", "length", "shutdown")


def test_special_tokens_of_a_plain_answer_are_no_text() -> None:
    """Special tokens count as tokens; ids that the tokenizer doesn't know are as good."""
    found = Transcript(Work((1,), None, Parameters(budget=4)), VOCABULARY)
    found.add([2, 8, 1 << 20, 2])
    assert (found.answer().text, found.answer().tokens_used) == (b"xx", 4)
    assert (found.answer().complete, found.answer().finish_reason) == (False, "length")


@pytest.mark.parametrize("named", [False, True])
def test_names_of_special_tokens(named: bool) -> None:
    """Special tokens are part of the text by their names where that is asked for, as in the decoder's own answers."""
    vocabulary = Vocabulary([b"a", None, None], [2], special={1: "<|call|>"})
    grammar = compile_grammar(Constraint("gbnf", 'root ::= "a" <|call|> "a"'), vocabulary)
    parameters = Parameters(budget=4, special_names=named)
    transcript = Transcript(Work((0,), grammar, parameters), vocabulary)
    transcript.add([0, 1, 0])
    expected = b"a<|call|>a" if named else b"aa"
    decoder = Decoder(grammar, parameters)
    while not decoder.answers:
        advance(decoder, np.zeros((1, vocabulary.size), np.float32))
    assert transcript.answer().text == decoder.answers[0].text == expected
