"""The filter behind both of vLLM's interfaces: whatever becomes of the batch, answers are those of the decoder."""

from __future__ import annotations

import random
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
import pytest
import torch

from grammar_cache.compile import compile_expression
from grammar_cache.errors import EmptyLanguage
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.vllm.wire.requests import RowRequest
from server.decoding.decoder import Decoder
from server.decoding.language import AnyText, Language
from server.decoding.parameters import Parameters
from tests.expression_matcher import matches
from tests.server.backends.vllm.fakes import BatchUpdate, Sampling, States, config, filter_class, made, sampling
from tests.server.backends.vllm.worker.runners import LENGTH, Job, Model, V1Runner, V2Runner
from tests.server.decoding.grammars import DYCK, DYCK_VOCABULARY, LETTERS, compiled
from tests.server.decoding.stepping import advance
from tests.server.decoding.trials.trials import (
    FUELS,
    MODELS,
    random_grammar,
    random_logits,
    random_parameters,
    random_vocabulary,
)


@pytest.fixture
def cls(monkeypatch: pytest.MonkeyPatch) -> Any:
    return filter_class(monkeypatch)


def model_of(kind: str, number: int, grammar: CompiledGrammar, padding: int) -> Model:
    """Logits by the text, and nothing else; padded as models do."""

    def model(text: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng(int.from_bytes(blake2b(f"{number} {text}".encode(), digest_size=8).digest()))
        row = random_logits(kind, rng, grammar, 1)[0]
        return np.concatenate([row, rng.normal(scale=9, size=padding).astype(np.float32)])

    return model


def expected(
    language: Language, parameters: Parameters, prompt: list[int], model: Model
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens of the decoder's answer, and the places of those that the budget chose; the model sees the whole
    text.
    """
    decoder = Decoder(language, parameters)
    text = list(prompt)
    while decoder.answer is None:
        text += decoder.wanted.tokens[0]
        advance(decoder, model(tuple(text))[None, : language.vocabulary.size])
    return decoder.answer.tokens, decoder.answer.forced_at


def jobs_of(rng: random.Random, grammar: CompiledGrammar, model: Model) -> list[tuple[Job, tuple[int, ...], set[int]]]:
    """Requests for one grammar, in all the ways to draw, with their answers and the places that the budget chose; some
    have begun their answer before they come.
    """
    found = []
    for name in range(rng.randint(1, 4)):
        parameters = random_parameters(rng, rng.randrange(1 << 64), grammar.minimum.tokens)
        parameters = Parameters(
            **{field: getattr(parameters, field) for field in ("budget", "temperature", "top_p", "top_k", "seed")},
            **{field: getattr(parameters, field) for field in ("candidates", "alpha", "promotion", "ending")},
        )
        if parameters.budget + 8 > LENGTH:
            continue
        prompt = [rng.randrange(grammar.vocabulary.size) for _ in range(rng.randint(1, 4))]
        answer, forced = expected(grammar, replace(parameters, jump_forward=False), prompt, model)
        begun = list(answer[: rng.choice((0, 0, rng.randint(0, max(0, len(answer) - 1))))])
        request = RowRequest(f"r{name}", "g", len(prompt), parameters)
        told = {place for place in forced if place >= len(begun)}
        found.append((Job(request, grammar, prompt + begun), answer, told))
    return found


def trial(number: int, cls: Any, monkeypatch: pytest.MonkeyPatch, version: str) -> int:
    """Runs some requests for a random grammar, and compares. Returns how many."""
    rng = random.Random(number)
    expression, vocabulary = random_grammar(rng), random_vocabulary(rng)
    try:
        grammar = compile_expression(expression, vocabulary, rng.choice(FUELS))
    except EmptyLanguage:
        return 0
    model = model_of(rng.choice(MODELS), number, grammar, rng.choice((0, 3)))
    wanted = jobs_of(rng, grammar, model)
    others = [Job(None, AnyText(vocabulary), [1]) for _ in range(rng.randint(0, 2))]
    states = States(9, LENGTH) if version == "V2" else None
    found = made(cls, vocabulary, monkeypatch, states)
    found.registry.add("g", grammar)
    runner = V2Runner(found, states, model, rng, 9) if states else V1Runner(found, model, rng, 9)
    runner.run([*(job for job, _, _ in wanted), *others])
    for job, answer, forced in wanted:
        assert job.answer is not None and job.request is not None
        assert job.answer[: len(answer)] == answer
        assert set(job.answer[len(answer) :]) <= set(found.registry.ends)
        assert matches(expression, vocabulary.text(answer))
        assert len(answer) <= job.request.parameters.budget
        report = found.registry.report(job.request.request)
        assert report.failure is None
        assert {place for place in report.forced if place < len(job.answer)} == forced
    return len(wanted)


@pytest.mark.parametrize("version", ["V1", "V2"])
def test_answers_are_those_of_the_decoder(cls: Any, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """Greedy and seeded answers, hostile models, all that may become of a batch: complete, in budget, the same."""
    assert sum(trial(number, cls, monkeypatch, version) for number in range(150)) > 120


@pytest.mark.full
@pytest.mark.parametrize("version", ["V1", "V2"])
def test_many_answers_are_those_of_the_decoder(cls: Any, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """Runs the quick test some thousand times."""
    assert sum(trial(number, cls, monkeypatch, version) for number in range(150, 3_000)) > 2_000


GRAMMAR = compiled(DYCK, DYCK_VOCABULARY)
OPENS = [9.0, -9.0, 0.0, 0.0]
"""A model that opens parentheses; x would complete the text."""


def request(name: str = "r", *, budget: int = 9, grammar: str | None = "g", **fields: Any) -> RowRequest:
    return RowRequest(name, grammar, 2, Parameters(budget, seed=0, **fields))


def begun(cls: Any, monkeypatch: pytest.MonkeyPatch, *outputs: list[int], **fields: Any) -> Any:
    """A V1 filter with requests that have put out these tokens; the prompt has two."""
    found = made(cls, DYCK_VOCABULARY, monkeypatch)
    found.registry.add("g", GRAMMAR)
    added = [(at, sampling(request(f"r{at}", **fields)), [0, 0], output) for at, output in enumerate(outputs)]
    found.update_state(BatchUpdate(len(added), [], added, []))
    return found


def chosen(found: Any, logits: list[list[float]]) -> list[int]:
    """The only token that each row can draw."""
    shares = found.apply(torch.tensor(logits)).softmax(1)
    assert (shares == 1.0).sum(dim=1).tolist() == [1] * len(shares)
    return list(shares.argmax(dim=1).tolist())


def test_it_is_made_as_both_runners_make_it(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """V1 gives a device and whether memory is pinned, V2 states; both check for their own base class."""
    assert {base.__name__ for base in cls.__mro__} >= {"V1LogitsProcessor", "V2LogitsProcessor"}
    for states in (None, States(1, 9)):
        found = made(cls, DYCK_VOCABULARY, monkeypatch, states)
        assert found.is_argmax_invariant() is False
        assert found.apply_staged_writes() is None
        found.update_state(None)
    with pytest.raises(ValueError, match="speculative"):
        cls(config(speculative=object()), States(1, 9))


def test_rows_of_others_stay(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether or not one of ours is in the batch; a request of ours that goes leaves nothing behind."""
    found = begun(cls, monkeypatch, [0])
    found.update_state(BatchUpdate(2, [], [(1, Sampling(), [0], [])], []))
    logits = torch.tensor([OPENS, [1.0, float("nan"), 2.0, 3.0]])
    after = found.apply(logits.clone())
    assert torch.equal(after[1].nan_to_num(), logits[1].nan_to_num())
    found.update_state(BatchUpdate(1, [1], [(0, Sampling(), [0], [])], []))
    assert torch.equal(found.apply(logits[:1].clone()), logits[:1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_logits_of_any_precision(cls: Any, monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype) -> None:
    """float32 is edited in place; of others comes a float32 copy."""
    logits = torch.tensor([OPENS], dtype=dtype)
    after = begun(cls, monkeypatch, []).apply(logits)
    assert after.dtype == torch.float32
    assert after.softmax(1).tolist() == [[1.0, 0.0, 0.0, 0.0]]
    assert (after.data_ptr() == logits.data_ptr()) == (dtype == torch.float32)


def test_the_end_is_forced_where_nothing_may_follow(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a whole text, behind an end token, and where the budget is spent; vLLM may ask once too often."""
    outputs = ([2], [0, 1, 2], [2, 3], [2, 3, 3], [0, 1, 0, 1, 0, 1, 0, 1, 2])
    assert chosen(begun(cls, monkeypatch, *outputs), [OPENS] * 5) == [3] * 5
    assert chosen(begun(cls, monkeypatch, [2], ending="freeze"), [OPENS]) == [3]


def test_end_tokens_only_where_the_text_may_end(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    grammar = compiled(LETTERS, vocabulary := Vocabulary([b"a", b"b", None], [2]))
    found = made(cls, vocabulary, monkeypatch)
    found.registry.add("g", grammar)
    added = [(at, sampling(request(f"r{at}")), [0, 0], output) for at, output in enumerate(([], [0]))]
    found.update_state(BatchUpdate(2, [], added, []))
    assert chosen(found, [[1.0, 0.0, 9.0]] * 2) == [0, 2]


def test_an_unknown_grammar_fails_its_request_alone(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = begun(cls, monkeypatch, [], [], [])
    found.update_state(BatchUpdate(3, [], [(1, sampling(request("lost", grammar="h")), [0, 0], [])], []))
    assert chosen(found, [OPENS] * 3) == [0, 3, 0]
    assert "'h'" in found.registry.report("lost").failure
    assert found.registry.report("r0").failure is None
    found.registry.drop("g")
    assert chosen(found, [OPENS] * 3) == [3, 3, 3]


@pytest.mark.parametrize("token", [-1, 1, 4, 99])
def test_a_text_that_leaves_the_grammar_has_failed(cls: Any, monkeypatch: pytest.MonkeyPatch, token: int) -> None:
    """A token that nobody chose: of another request, or in place of one that isn't known yet."""
    output = [0, 1, 1] if token == 1 else [0, token]
    found = begun(cls, monkeypatch, output, [])
    assert chosen(found, [OPENS] * 2) == [3, 0]
    assert str(token) in found.registry.report("r0").failure
    del output[1:]
    assert chosen(found, [OPENS] * 2) == [0, 0]


@pytest.mark.parametrize("fault", [RuntimeError("a fault"), MemoryError(), KeyError(3)])
def test_after_a_fault_the_witness_is_followed(cls: Any, monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    """The text is completed within its budget, and the report says how many tokens the witness chose."""
    output: list[int] = []
    found = begun(cls, monkeypatch, output, [], budget=9)
    for _ in range(3):
        output += chosen(found, [OPENS] * 2)[:1]
    with monkeypatch.context() as broken:
        broken.setattr("server.backends.vllm.worker.row.drawn", lambda *anything: (_ for _ in ()).throw(fault))
        for _ in range(4):
            output += chosen(found, [OPENS] * 2)[:1]
    assert DYCK_VOCABULARY.text(output) == b"((()))x"
    assert chosen(found, [OPENS] * 2) == [3, 0]
    report = found.registry.report("r0")
    assert (len(report.rescued), report.failure) == (4, None)
    assert found.registry.report("r1").rescued == {0}


def raising(*anything: object) -> Any:
    raise RuntimeError("a fault")


def test_where_even_the_witness_fails_the_answer_has_failed(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = begun(cls, monkeypatch, [0], [2])
    monkeypatch.setattr("server.backends.vllm.worker.row.drawn", raising)
    monkeypatch.setattr(GRAMMAR, "witness", raising, raising=False)
    assert chosen(found, [OPENS] * 2) == [3, 3]
    assert "a fault" in found.registry.report("r0").failure
    assert found.registry.report("r1").failure is None


def test_a_budget_that_was_too_small_is_told(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The front end refuses such a request; here it would be ended where it isn't complete."""
    found = begun(cls, monkeypatch, [0, 0], budget=2)
    assert chosen(found, [OPENS]) == [3]
    assert "not complete" in found.registry.report("r0").failure


def test_logits_that_cannot_be_read_or_written(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that can't be read follow their witness. Where nothing can be written, all answers of the step fail."""
    found = begun(cls, monkeypatch, [0], [0])
    with monkeypatch.context() as broken:
        broken.setattr("server.backends.vllm.worker.guide.rows_of", raising)
        assert chosen(found, [OPENS] * 2) == [1, 1]
    assert found.registry.report("r1").rescued == {1}
    monkeypatch.setattr("server.backends.vllm.worker.guide.choose", raising)
    assert found.apply(torch.tensor([OPENS] * 2)).shape == (2, 4)
    assert [found.registry.report(name).failure for name in ("r0", "r1")] == ["RuntimeError: a fault"] * 2


def test_states_that_cannot_be_read_fail_the_step(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = made(cls, DYCK_VOCABULARY, monkeypatch, States(1, 9))
    assert found.add_request(0, sampling(request()))
    logits = torch.tensor([OPENS])
    assert torch.equal(found.apply(logits, object()), logits)
    assert found.registry.report("r").failure is not None


def test_a_model_without_some_of_the_tokenizers_ids(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids that the model lacks are never chosen where there is another way; where there is none, the answer has
    failed.
    """
    found = begun(cls, monkeypatch, [], [0], [2])
    assert chosen(found, [[0.0, 1.0]] * 3) == [0, 1, 0]
    assert "no token 3" in found.registry.report("r2").failure
    assert found.registry.report("r1").failure is None


def test_arguments_that_cannot_be_read(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments that can't be read are refused where the request is made; one that comes through all the same harms
    nobody.
    """
    bad = Sampling({"swyb": {"grammar": 3}})
    with pytest.raises(ValueError, match="swyb"):
        cls.validate_params(bad)
    cls.validate_params(sampling(request()))
    cls.validate_params(Sampling())
    found = begun(cls, monkeypatch, [])
    found.update_state(BatchUpdate(2, [], [(1, bad, [0, 0], [])], []))
    after = found.apply(torch.tensor([OPENS] * 2))
    assert after[0].softmax(0).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert after[1].tolist() == OPENS


def test_any_text_with_a_seed(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request without a grammar draws as the decoder does, from all texts."""
    any_text, model = AnyText(DYCK_VOCABULARY), lambda text: np.zeros(4, np.float32)
    parameters = Parameters(30, temperature=1.0, seed=11)
    job = Job(RowRequest("r", None, 1, parameters), any_text, [0])
    V1Runner(made(cls, DYCK_VOCABULARY, monkeypatch), model, random.Random(0), 4).run([job])
    answer, _ = expected(any_text, parameters, [0], model)
    assert job.answer is not None
    assert job.answer[: len(answer)] == answer
