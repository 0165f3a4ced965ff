"""Algorithm 1: beams, end tokens, ties, duplicates, jumps, streams, and what happens when something fails."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from grammar_cache.expression import Alt, Bytes, Grammar, Repeat, Seq, char_class
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.answer import Answer
from server.decoding.beam import whole_code_points
from server.decoding.decoder import Decoder
from server.decoding.language import AnyText, Language
from server.decoding.parameters import Parameters
from tests.server.decoding.grammars import DYCK, DYCK_VOCABULARY, LETTERS, compiled
from tests.server.decoding.stepping import advance

Model = Callable[[bytes], list[float]]


def decode(language: Language, parameters: Parameters, model: Model) -> tuple[Answer, list[bytes], int]:
    """The answer, the streamed prefixes, and how often the model was asked. The model sees the text of a row."""
    decoder = Decoder(language, parameters)
    rows: list[bytes] = [b""]
    streamed = [decoder.agreed]
    asked = 0
    while decoder.answer is None:
        wanted = decoder.wanted
        rows = [
            rows[parent] + language.vocabulary.text(tokens)
            for parent, tokens in zip(wanted.parents, wanted.tokens, strict=True)
        ]
        asked += 1
        advance(decoder, np.array([model(text) for text in rows], np.float32))
        streamed.append(decoder.agreed if decoder.answer is None else decoder.answer.text)
    return decoder.answer, streamed, asked


def always(*logits: float) -> Model:
    return lambda text: list(logits)


def tabled(table: NDArray[np.float64], place: Callable[[bytes], int]) -> Model:
    """A model whose logits are rows of a table."""
    return lambda text: list(table[place(text)])


def test_worked_example_of_the_paper() -> None:
    """T = 3, M = 2, α_min = 0.25: the beams score -0.523 and -0.898, and the answer is ()x."""
    grammar = compiled(DYCK, DYCK_VOCABULARY)
    decoder = Decoder(grammar, Parameters(budget=3, beam_width=2, alpha=0.25, candidates=3))
    advance(decoder, np.array([[-0.5, -3.0, -1.0, -9.0]], np.float32))
    assert [round(b.scores.guided, 3) for b in decoder._beams] == [-0.523, -0.898]
    assert decoder.answer is not None
    assert decoder.answer.text == b"()x"


def test_distances_of_the_worked_example() -> None:
    """The distance after n opening parentheses is n + 1 tokens."""
    grammar = compiled(DYCK, DYCK_VOCABULARY)
    configurations = [grammar.consume_bytes(grammar.start, b"(" * n) for n in range(5)]
    assert [grammar.distance(c) for c in configurations if c is not None] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("budget", range(1, 12))
def test_a_model_that_only_opens_is_closed_in_time(budget: int) -> None:
    """A hostile model opens as long as that can still be closed, and not one token longer."""
    grammar = compiled(DYCK, DYCK_VOCABULARY)
    answer, _, _ = decode(grammar, Parameters(budget=budget), always(9, -9, -9, -9))
    depth = (budget - 1) // 2
    assert answer.text == b"(" * depth + b")" * depth + b"x"


def test_greedy_is_the_best_viable_token_at_every_step() -> None:
    """The answer with M = 1 and temperature 0 is that of an argmax over the budget's mask."""
    grammar = compiled(DYCK, DYCK_VOCABULARY)
    random = np.random.default_rng(7)
    for _ in range(50):
        table = random.normal(size=(16, 4))
        expected, configuration = b"", grammar.start
        for step in range(9):
            allowed = np.where(grammar.mask(configuration, 9 - step), table[len(expected)], -np.inf)
            token = int(allowed.argmax())
            expected += grammar.vocabulary.token_bytes[token] or b""
            after = grammar.consume(configuration, token)
            assert after is not None
            configuration = after
            if grammar.ends(configuration):
                break
        answer, _, _ = decode(grammar, Parameters(budget=9, candidates=1), tabled(table, len))
        assert answer.text == expected


def test_end_token_competes_with_going_on() -> None:
    """The model decides where the text may end and may go on; the end token counts as one of the budget."""
    grammar = compiled(LETTERS, Vocabulary([b"a", b"b", None], [2]))
    model: Model = lambda text: [1, 0, 5 if len(text) == 3 else -5]
    answer, _, _ = decode(grammar, Parameters(budget=9), model)
    assert (answer.text, answer.tokens_used, answer.finish_reason) == (b"aaa", 4, "stop")


def test_text_complete_at_the_last_token_stops_without_an_end_token() -> None:
    """A text that is accepted when no token is left is complete: finish_reason is stop, not length."""
    grammar = compiled(LETTERS, Vocabulary([b"a", b"b", None], [2]))
    answer, _, _ = decode(grammar, Parameters(budget=4), always(1, 0, -5))
    assert (answer.text, answer.tokens_used, answer.finish_reason) == (b"aaaa", 4, "stop")


def test_text_that_nothing_can_follow_ends_at_once() -> None:
    """No step is spent on an end token where nothing may follow."""
    grammar = compiled(Grammar({"root": Bytes(b"ab")}, "root"), Vocabulary([b"a", b"b", b"ab", None], [3]))
    answer, _, asked = decode(grammar, Parameters(budget=9), always(1, 1, 0, 0))
    assert (answer.text, answer.tokens_used, asked) == (b"ab", 2, 1)


def test_ties_at_the_horizon_go_to_the_better_logit() -> None:
    """Guided scores tie where α = 1 for every candidate, and the model's own preference decides."""
    grammar = compiled(LETTERS, Vocabulary([b"a", b"b"], []))
    answer, _, _ = decode(grammar, Parameters(budget=3, beam_width=2, alpha=1.0), always(0.0, 0.1))
    assert answer.text == b"bbb"


def test_beams_hold_distinct_texts() -> None:
    """Two tokenisations of one text fill one beam, the better one, so that M beams are M texts."""
    vocabulary = Vocabulary([b"a", b"b", b"aa", None], [3])
    decoder = Decoder(compiled(LETTERS, vocabulary), Parameters(budget=6, beam_width=4))
    advance(decoder, np.zeros((1, 4), np.float32))
    for _ in range(4):
        advance(decoder, np.zeros((len(decoder.wanted.parents), 4), np.float32))
        kept = [(b.text, b.ended) for b in decoder._beams]
        assert len(kept) == len(set(kept)) == 4


def test_wider_beam_finds_the_likelier_text() -> None:
    """M = 2 keeps a prefix that looks worse at first and turns out better; M = 1 can't."""
    grammar = compiled(
        Grammar({"root": Alt((Bytes(b"ac"), Bytes(b"ad"), Bytes(b"be")))}, "root"),
        Vocabulary([b"a", b"b", b"c", b"d", b"e", None], [5]),
    )
    model = always(0.1, 0, 0, 0, 0, 0)
    assert decode(grammar, Parameters(budget=8), model)[0].text == b"ac"
    assert decode(grammar, Parameters(budget=8, beam_width=2), model)[0].text == b"be"


@pytest.mark.parametrize("wanted", [1, 2, 5, 9, 10])
def test_the_best_texts_are_those_of_all_texts(wanted: int) -> None:
    """The answers with room for every prefix are the likeliest words of all, in order, as enumeration finds them."""
    letter = char_class([(97, 99)])
    grammar = compiled(Grammar({"root": Seq((letter, letter))}, "root"), Vocabulary([b"a", b"b", b"c", None], [3]))
    logits = {text: np.random.default_rng(len(text)).normal(size=4) for text in (b"", b"a", b"b", b"c")}
    likely = {text: row[:3] - np.log(np.exp(row[:3]).sum()) for text, row in logits.items()}
    words = {
        bytes([97 + first, 97 + second]): likely[b""][first] + likely[bytes([97 + first])][second]
        for first, second in itertools.product(range(3), repeat=2)
    }
    decoder = Decoder(grammar, Parameters(budget=3, beam_width=9, answers=wanted, promotion="none"))
    for texts in ([b""], [b"a", b"b", b"c"]):
        assert not decoder.answers
        rows = sorted(texts, key=lambda text: likely[b""][text[0] - 97] if text else 0, reverse=True)
        advance(decoder, np.array([logits[text] for text in rows], np.float32))
    found = {answer.text: answer.score for answer in decoder.answers}
    assert list(found) == sorted(words, key=lambda word: words[word], reverse=True)[:wanted]
    assert found == pytest.approx({word: words[word] for word in found}, abs=1e-5)


def test_single_viable_tokens_cost_no_model_call() -> None:
    """Forced tokens are jumped over, at the start and in the middle; without jumps the text is the same."""
    grammar = compiled(
        Grammar({"root": Seq((Bytes(b"xyz"), Alt((Bytes(b"a"), Bytes(b"b"))), Bytes(b"xyz")))}, "root"),
        Vocabulary([b"x", b"y", b"z", b"a", b"b", None], [5]),
    )
    jumped, _, asked = decode(grammar, Parameters(budget=9), always(0, 0, 0, 0, 1, 0))
    walked, _, asked_more = decode(grammar, Parameters(budget=9, jump_forward=False), always(0, 0, 0, 0, 1, 0))
    assert (jumped.text, jumped.tokens_used, asked) == (b"xyzbxyz", 7, 1)
    assert (walked.text, asked_more) == (b"xyzbxyz", 7)
    assert jumped.score == pytest.approx(walked.score)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_stream_only_grows_and_ends_in_the_answer(width: int) -> None:
    """Streamed text is never taken back: every piece is a prefix of the next, and of the answer."""
    vocabulary = Vocabulary([b"a", b"b", "ä€".encode(), "€".encode()[:2], "€".encode()[2:], None], [5])
    letters = Grammar({"root": Repeat(char_class([(97, 98), (0xE4, 0xE4), (0x20AC, 0x20AC)]), 1, None)}, "root")
    random = np.random.default_rng(3)
    for seed in range(20):
        table = random.normal(size=(200, 6))
        model = tabled(table, lambda text: sum(text) % 200)
        answer, streamed, _ = decode(
            compiled(letters, vocabulary), Parameters(budget=12, beam_width=width, seed=seed), model
        )
        for before, after in itertools.pairwise(streamed):
            assert after.startswith(before)
            assert before.decode() is not None
        assert answer.text.startswith(streamed[-1])


def test_budget_forced_tokens_are_counted() -> None:
    """Tokens that the model wanted and the grammar allows, but the budget doesn't, are reported."""
    grammar = compiled(DYCK, DYCK_VOCABULARY)
    opens = always(9, -9, -9, -9)
    for how in ({}, {"jump_forward": False}, {"candidates": 1}, {"jump_forward": False, "candidates": 1}):
        answer = decode(grammar, Parameters(budget=3, **how), opens)[0]
        assert (answer.text, answer.budget_forced_tokens) == (b"()x", 2)
    assert decode(grammar, Parameters(budget=3), always(-9, -9, 9, -9))[0].budget_forced_tokens == 0


def test_failing_step_is_completed_by_the_witness() -> None:
    """The witness completes what is there without a model, within the budget."""
    grammar = compiled(DYCK, DYCK_VOCABULARY)
    decoder = Decoder(grammar, Parameters(budget=9))
    advance(decoder, np.array([[9, -9, -9, -9]], np.float32))
    advance(decoder, np.array([[9, -9, -9, -9]], np.float32))
    decoder.finish_by_witness("failure")
    assert decoder.answer is not None
    assert (decoder.answer.text, decoder.answer.interrupted) == (b"(())x", "failure")


def test_plain_text_ends_by_the_model_or_by_length() -> None:
    """The budget cuts plain text, which has no grammar, and says so."""
    language = AnyText(Vocabulary([b"a", b"b", None], [2]))
    cut, _, _ = decode(language, Parameters(budget=3), always(1, 0, -1))
    ended, _, _ = decode(language, Parameters(budget=9), lambda text: [1, 0, 9 if len(text) == 2 else 0])
    assert (cut.text, cut.finish_reason, cut.complete) == (b"aaa", "length", False)
    assert (ended.text, ended.finish_reason, ended.tokens_used) == (b"aa", "stop", 3)


def test_plain_text_ends_before_a_stop_text() -> None:
    """A stop text ends a plain answer and is no part of it, wherever tokens cut it; no beginning of it is streamed."""
    language = AnyText(Vocabulary([b"a", b"b", b"bc", b"c", None], [4]))
    written = b"aabaabcaa"

    def model(text: bytes) -> list[float]:
        rest = written[len(text) :]
        return [*(rest.startswith(t) * len(t) for t in (b"a", b"b", b"bc", b"c")), -9]

    for stop, kept in ((b"abc", b"aaba"), (b"baa", b"aa"), (b"aab", b""), (b"x", written)):
        answer, streamed, _ = decode(language, Parameters(budget=len(written) - 1, stops=(stop, b"zz")), model)
        assert answer.text == kept
        assert answer.finish_reason == ("length" if stop == b"x" else "stop")
        assert all(answer.text.startswith(piece) for piece in streamed)


def test_same_seed_same_text() -> None:
    """Sampling is a function of the seed."""
    grammar = compiled(LETTERS, Vocabulary([b"a", b"b", None], [2]))
    texts = [
        decode(grammar, Parameters(budget=30, temperature=1.0, seed=seed), always(0, 0, -3))[0].text
        for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    ("data", "whole"),
    [(b"a", b"a"), ("ä".encode()[:1], b""), ("a€".encode()[:3], b"a"), ("€".encode(), "€".encode()), (b"", b"")],
)
def test_streams_are_cut_at_code_points(data: bytes, whole: bytes) -> None:
    """A code point is streamed whole or not yet."""
    assert whole_code_points(data) == whole


def logits_of(values: list[float]) -> NDArray[np.float32]:
    return np.array([values], np.float32)


def test_logits_without_a_number_still_end_well() -> None:
    """All logits -inf or NaN: the candidates tie, and the nearest to the end is taken."""
    grammar = compiled(DYCK, DYCK_VOCABULARY)
    for bad in (float("nan"), float("-inf")):
        decoder = Decoder(grammar, Parameters(budget=9))
        while decoder.answer is None:
            advance(decoder, logits_of([bad] * 4))
        assert decoder.answer.text == b"x"
