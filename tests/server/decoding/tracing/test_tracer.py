"""Traces change no answer, and say what masks and the model's logits say at every place."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from pydantic import TypeAdapter

from grammar_cache.compile import compile_expression
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Grammar, Repeat, char_class
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.backend import Work
from server.backends.request import Decoding
from server.decoding.answer import Answer
from server.decoding.forced_text import ForcedText
from server.decoding.language import AnyText
from server.decoding.parameters import NO_PENALTIES, UNLIMITED, Parameters
from server.decoding.tracing.steps import TracedRow, TraceStep
from tests.server.decoding.grammars import DYCK, DYCK_VOCABULARY, LETTERS, compiled, longest_match
from tests.server.decoding.test_unlimited import Model, decoded, random_parameters, seeded_model
from tests.server.decoding.trials.trials import random_grammar, random_vocabulary

JSON = TypeAdapter(TraceStep)
ROOM = 1 << 20


class Reading:
    """A trace as it was told, followed from the start: the tokens of each row, and what stood behind them."""

    def __init__(self, grammar: CompiledGrammar, parameters: Parameters, model: Model | None) -> None:
        self.grammar, self.parameters, self.model = grammar, parameters, model
        self.paths: list[list[int]] = []
        self.counts = dict.fromkeys(("grammar", "budget", "worse", "kept", "taken", "alternative"), 0)

    def follow(self, step: TraceStep) -> None:
        before = self.paths
        self.paths = []
        kept: dict[int | None, set[int]] = {}
        for row in step.rows:
            if row.token is not None:
                kept.setdefault(row.parent, set()).add(row.token.id)
        for number, row in enumerate(step.rows):
            assert row.row == number
            assert (row.parent is None) == (step.step == 0)
            path = [] if row.parent is None else before[row.parent]
            if row.token is not None:
                self.check(row, path, kept[row.parent])
                path = [*path, row.token.id]
            for jumped in row.jumped:
                mask = self.mask(path, UNLIMITED)
                if not isinstance(self.parameters.jump_forward, str):
                    assert jumped.by == ("grammar" if np.flatnonzero(mask).tolist() == [jumped.id] else "budget")
                path = [*path, jumped.id]
            self.paths.append(path)
            assert row.tokens_left == self.parameters.budget - len(path)
            assert row.distance <= row.tokens_left
            assert row.ended or row.distance > 0 or self.grammar.accepts(self.at(path))

    def check(self, row: TracedRow, path: list[int], kept: set[int]) -> None:
        """Fates and the chooser, by masks and the model's logits."""
        assert row.token is not None
        assert self.model is not None
        logits = self.model(tuple(path))
        free, viable = self.mask(path, UNLIMITED), self.mask(path, self.parameters.budget - len(path))
        ends = list(self.grammar.vocabulary.stop_ids)
        if len(path) < self.parameters.min_tokens:
            free[ends] = viable[ends] = False
        best = np.argsort(-logits, kind="stable")[:8].tolist()
        if self.parameters.penalties == NO_PENALTIES:
            told = [candidate.id for candidate in row.candidates]
            assert told == best or told == [*best[:7], row.token.id]
            favourite = best[0]
            by = "alternative" if viable[favourite] else "budget" if free[favourite] else "grammar"
            assert row.by == ("model" if row.token.id == favourite else by)
            self.counts["alternative"] += row.by == "alternative"
            logprob = float(logits[row.token.id] - np.logaddexp.reduce(logits))
            assert row.token.logprob == pytest.approx(logprob, abs=1e-3)
        for candidate in row.candidates:
            fate = "worse" if viable[candidate.id] else "budget" if free[candidate.id] else "grammar"
            if candidate.id in kept:
                fate = "taken" if candidate.id == row.token.id else "kept"
            assert candidate.fate == fate
            assert (candidate.distance is None) == (fate == "grammar")
            self.counts[fate] += 1

    def at(self, path: list[int]) -> int:
        configuration = self.grammar.start
        for token in path:
            if token not in self.grammar.vocabulary.stop_ids:
                configuration = self.grammar.take(configuration, token)
        return configuration

    def mask(self, path: list[int], left: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return self.grammar.mask(self.at(path), left).copy()


def same(one: Answer, other: Answer) -> bool:
    fields = ("text", "tokens", "tokens_used", "complete", "score", "forced_at", "budget_affected", "logprobs")
    return all(getattr(one, name) == getattr(other, name) for name in fields)


def trial(number: int) -> dict[str, int]:
    """Decodes with a trace and without; returns what the trace told, counted."""
    rng = random.Random(number)
    grammar, vocabulary = random_grammar(rng), random_vocabulary(rng)
    try:
        made = compile_expression(grammar, vocabulary, Limits())
    except EmptyLanguage:
        return {}
    parameters = random_parameters(rng, made.minimum.tokens)
    language = ForcedText(made, longest_match(vocabulary)) if rng.random() < 0.2 else made
    if isinstance(language, ForcedText):
        parameters = replace(parameters, jump_forward="text")
    model = seeded_model(number, made, rng.choice((0.5, 3.0)))
    plain = decoded(language, parameters, model)
    traced = decoded(language, replace(parameters, trace_bytes=ROOM), model)
    assert all(same(one, other) for one, other in zip(plain, traced, strict=True))
    assert all(answer.trace is None for answer in (*plain, *traced[1:]))
    trace = traced[0].trace
    assert trace is not None
    reading = Reading(made, parameters, model)
    for place, step in enumerate(trace):
        assert step.step == place
        assert len(step.rows) <= parameters.beam_width
        assert len(JSON.dump_json(step)) <= step.size_bytes
        reading.follow(step)
    named = {row.answer: path for row, path in zip(trace[-1].rows, reading.paths, strict=True)}
    for place, answer in enumerate(traced[: parameters.beam_width]):
        if place in named:
            assert tuple(named[place][: len(answer.tokens)]) == answer.tokens
            assert len(named[place]) == answer.tokens_used
    assert 0 in named
    return reading.counts


def counted(numbers: range) -> dict[str, int]:
    total: dict[str, int] = {}
    for number in numbers:
        for name, count in trial(number).items():
            total[name] = total.get(name, 0) + count
    return total


def test_traces_are_what_masks_and_logits_say() -> None:
    """Random grammars, vocabularies, budgets and ways to decode: the same answers, and each fate for its reason."""
    assert all(counted(range(120)).values())


@pytest.mark.full
def test_traces_of_thousands_of_answers() -> None:
    """Runs the quick test for 3,000 grammars more."""
    assert min(counted(range(150, 3_150)).values()) > 10


def test_a_witness_is_told() -> None:
    """An interrupted answer's last step has the tokens of the shortest completion, behind those that were there."""
    grammar = compiled(DYCK, DYCK_VOCABULARY)
    for beams in (1, 3):
        parameters = Parameters(9, beams, beams, seed=1, trace_bytes=ROOM)
        decoding = Decoding(Work((), grammar, parameters), AnyText(DYCK_VOCABULARY))
        for _ in range(2):
            rows = len(decoding.decoder.prefixes)
            decoding.step(np.tile(np.array([3, 1, 0, 0], np.float32), (rows, 1)))
        decoding.finish_by_witness("failure")
        answer, *_ = decoding.answers
        assert answer.trace is not None
        last = next(row for row in answer.trace[-1].rows if row.answer == 0)
        assert {jumped.by for jumped in last.jumped} <= {"witness"}
        paths: list[list[int]] = []
        for step in answer.trace:
            paths = [
                ([] if row.parent is None else paths[row.parent])
                + ([] if row.token is None else [row.token.id])
                + [jumped.id for jumped in row.jumped]
                for row in step.rows
            ]
        assert tuple(paths[last.row][: len(answer.tokens)]) == answer.tokens


@pytest.mark.parametrize("room", [1, 200, 2_000, 20_000])
def test_a_trace_is_bounded(room: int) -> None:
    """The last step says so where there is no more room, and the answers stay what they are."""
    letters = Grammar({"root": Repeat(char_class([(0, 2)]), 50, 50)}, "root")
    grammar = compiled(letters, Vocabulary([b"\0", b"\1", b"\2" * 3, b"\2", None], [4]))
    model = seeded_model(5, grammar, 2.0)
    parameters = Parameters(60, 3, 2, seed=3)
    plain = decoded(grammar, parameters, model)
    traced = decoded(grammar, replace(parameters, trace_bytes=room), model)
    assert all(same(one, other) for one, other in zip(plain, traced, strict=True))
    trace = traced[0].trace
    assert trace
    assert trace[-1].truncated
    assert not any(step.truncated for step in trace[:-1])
    assert sum(len(JSON.dump_json(step)) for step in trace) <= max(room, len(JSON.dump_json(trace[-1])))


def test_plain_texts_are_traced() -> None:
    """Any token is viable without a grammar."""
    vocabulary = Vocabulary([b"a", b"b", b"c", None], [3])
    decoding = Decoding(Work((), None, Parameters(5, seed=1, trace_bytes=ROOM)), AnyText(vocabulary))
    while not decoding.answers:
        decoding.step(np.array([[0, 2, 1, -9]], np.float32))
    [answer] = decoding.answers
    assert answer.trace is not None
    assert [row.by for step in answer.trace[1:] for row in step.rows] == ["model"] * 5
    assert answer.trace[-1].rows[0].text == "bbbbb"


def test_pieces_carry_the_steps_since_the_piece_before() -> None:
    """A piece has no text where the beams agree on nothing new."""
    grammar = compiled(LETTERS, Vocabulary([b"a", b"b", None], [2]))
    parameters = Parameters(4, 2, trace_bytes=ROOM)
    decoding = Decoding(Work((), grammar, parameters), AnyText(grammar.vocabulary))
    steps: list[TraceStep] = []
    while not decoding.answers:
        piece = decoding.piece()
        steps += piece.trace if piece is not None else ()
        decoding.step(np.zeros((len(decoding.decoder.prefixes), 3), np.float32))
    trace = decoding.answers[0].trace
    assert trace is not None
    assert tuple(steps) == trace[: len(steps)]
    assert len(steps) == len(trace) - 1


def test_nothing_is_made_where_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tracer is made without room for a trace."""
    monkeypatch.delattr("server.backends.request.Tracer")
    decoding = Decoding(Work((), None, Parameters(4)), AnyText(DYCK_VOCABULARY))
    decoding.step(np.zeros((1, 4), np.float32))
    assert decoding.piece() is not None
