"""Beam search in the workers, behind both of vLLM's interfaces: the answers of the decoder, whatever the batch is."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from grammar_cache import Constraint, compile_grammar
from grammar_cache.compile import compile_expression
from grammar_cache.errors import EmptyLanguage
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.vllm.wire.choices import NOTHING, Choice, Turns
from server.backends.vllm.wire.requests import BEAM, KEY, SearchRequest
from server.backends.vllm.worker.beam_search import Search, told
from server.backends.vllm.worker.registry import Registry
from server.decoding.answer import Answer
from server.decoding.decoder import Decoder
from server.decoding.parameters import Parameters
from tests.expression_matcher import matches
from tests.server.backends.vllm.fakes import (
    Added,
    BatchUpdate,
    Sampling,
    States,
    context,
    filter_class,
    made,
    no_split,
)
from tests.server.backends.vllm.worker.models import Model, model_of
from tests.server.decoding.grammars import DYCK, DYCK_VOCABULARY, compiled
from tests.server.decoding.stepping import advance
from tests.server.decoding.trials.trials import FUELS, MODELS, random_grammar, random_parameters, random_vocabulary

GRAMMAR = compiled(DYCK, DYCK_VOCABULARY)
LETTERS = [bytes([letter]) for letter in b"abcdefghijklmnopqrstuvwxyz"]
OPENS = [9.0, -9.0, 0.0, 0.0]


@pytest.fixture
def cls(monkeypatch: pytest.MonkeyPatch) -> Any:
    return filter_class(monkeypatch)


def row(name: str, request: SearchRequest | None = None) -> Sampling:
    return Sampling({BEAM: name} | ({KEY: request.to_dict()} if request else {}))


class Beams:
    """One search's rows in a batch that changes all the time, in slots (V2) or at indices (V1); others' rows between.

    Each row is a text with its prompt. Rows that go on keep their names, if the filter has left them that token alone.
    """

    def __init__(self, made: Any, states: States | None, request: SearchRequest, model: Model, events: random.Random):
        self.filter, self.states, self.events, self.model = made, states, events, model
        self.request = request
        self.names = [request.request]
        self.texts = [request.begun]
        self.others = events.randint(0, 2)
        self.count = 0

    def run(self) -> dict[str, Any]:
        """The last news."""
        while True:
            choice = self.step()
            if choice.over:
                return choice.news
            names = []
            for parent, tokens in zip(choice.parents, choice.tokens, strict=True):
                self.count += 1
                stays = tokens == (self.sampled[parent],) and self.names[parent] not in names
                names.append(self.names[parent] if stays else f"{self.request.request}/{self.count}")
            self.texts = [self.texts[p] + tokens for p, tokens in zip(choice.parents, choice.tokens, strict=True)]
            self.names = names

    def step(self) -> Choice:
        """Sometimes a step in between takes only some of the rows, and nothing is made of it."""
        if len(self.names) > 1 and self.events.random() < 0.2:
            before = self.apply(Turns({}, ()), self.events.sample(range(len(self.names)), len(self.names) - 1))
            assert torch.equal(*(logits.nan_to_num(7) for logits in before))
            assert self.filter.searches.take() == {}
        before, after = self.apply(Turns({self.request.request: tuple(self.names)}, ()), range(len(self.names)))
        self.sampled = [int(line.nan_to_num().argmax()) for line in after]
        assert torch.equal(after[len(self.names) :].nan_to_num(7), before[len(self.names) :].nan_to_num(7))
        choices: list[Choice] = list(self.filter.searches.take().values())
        assert self.filter.searches.take() == {}
        [choice] = choices
        return choice

    def apply(self, turns: Turns, rows: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits before and after, of these rows and then of others."""
        self.filter.searches.expect(turns)
        texts = [self.texts[at] for at in rows] + [(9,)] * self.others
        told = [row(self.names[at], self.request if self.names[at] == self.request.request else None) for at in rows]
        told += [Sampling()] * self.others
        order = self.events.sample(range(len(texts)), len(texts))
        logits = torch.from_numpy(np.stack([self.model(texts[at]) for at in order]))
        before = logits.clone()
        if self.states is None:
            added: list[Added] = [(place, told[at], [1], []) for place, at in enumerate(order)]
            self.filter.update_state(BatchUpdate(len(added), list(range(9)), added, []))
            after = self.filter.apply(logits)
        else:
            slots = self.events.sample(range(9), len(texts))
            for at, slot in enumerate(slots):
                assert self.filter.add_request(slot, told[at]) == (at < len(texts) - self.others)
            after = self.filter.apply(logits, context([slots[at] for at in order]))
        back = [order.index(at) for at in range(len(texts))]
        return before[back], after[back]


def direct(grammar: CompiledGrammar, parameters: Parameters, model: Model) -> tuple[Answer, ...]:
    decoder, rows = Decoder(grammar, parameters), [tuple[int, ...]()]
    while not decoder.answers:
        wanted = decoder.wanted
        rows = [rows[parent] + tokens for parent, tokens in zip(wanted.parents, wanted.tokens, strict=True)]
        advance(decoder, np.stack([model(text)[: grammar.vocabulary.size] for text in rows]))
    return decoder.answers


def trial(number: int, cls: Any, monkeypatch: pytest.MonkeyPatch, version: str) -> bool:
    rng = random.Random(number)
    expression, vocabulary = random_grammar(rng), random_vocabulary(rng)
    try:
        grammar = compile_expression(expression, vocabulary, rng.choice(FUELS))
    except EmptyLanguage:
        return False
    model = model_of(rng.choice(MODELS), number, grammar, rng.choice((0, 3)))
    width = rng.choice((1, 2, 3, 4))
    parameters = random_parameters(rng, number, grammar.minimum.tokens).seeded()
    parameters = replace(parameters, beam_width=width, answers=rng.randint(1, width))
    if width == 1:  # of single texts, those that are guided
        parameters = replace(parameters, temperature=0.0, min_p=0.0)
    answers = direct(grammar, parameters, model)
    if not (decoder := Decoder(grammar, parameters)).answers:
        states = States() if version == "V2" else None
        found = made(cls, vocabulary, monkeypatch, states)
        found.registry.add("g", grammar)
        search = Beams(found, states, SearchRequest("r", "g", parameters, *decoder.wanted.tokens), model, rng)
        assert search.run() == {"answers": [told(answer) for answer in answers]}
    assert all(matches(expression, answer.text) for answer in answers)
    return True


@pytest.mark.parametrize("version", ["V1", "V2"])
def test_answers_are_those_of_the_decoder(cls: Any, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """Random grammars, budgets and hostile models; tokens, scores and tokens that the budget chose."""
    assert sum(trial(number, cls, monkeypatch, version) for number in range(150)) > 60


@pytest.mark.full
@pytest.mark.parametrize("version", ["V1", "V2"])
def test_many_answers_are_those_of_the_decoder(cls: Any, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    assert sum(trial(number, cls, monkeypatch, version) for number in range(150, 3_000)) > 1_200


def begun(
    cls: Any,
    monkeypatch: pytest.MonkeyPatch,
    *names: str,
    grammar: str = "g",
    tokens: tuple[int, ...] = (),
    **fields: Any,
) -> Any:
    """A V1 filter with the first rows of searches."""
    found = made(cls, DYCK_VOCABULARY, monkeypatch)
    found.registry.add("g", GRAMMAR)
    found.registry.add("text", compile_grammar(Constraint("regex", r"\(\)[()x]{3}"), DYCK_VOCABULARY))
    parameters = Parameters(**{"budget": 9, "beam_width": 2, "seed": 0} | fields)
    added: list[Added] = [
        (at, row(name, SearchRequest(name, grammar, parameters, tokens)), [1], []) for at, name in enumerate(names)
    ]
    found.update_state(BatchUpdate(len(added), [], added, []))
    return found


def stepped(found: Any, logits: list[list[float]], **rows: tuple[str, ...]) -> tuple[torch.Tensor, dict[str, Choice]]:
    found.searches.expect(Turns(rows, ()))
    return found.apply(torch.tensor(logits)), found.searches.take()


def test_a_row_that_goes_on_keeps_its_token_alone(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row of another search, whose turn it isn't, stays."""
    found = begun(cls, monkeypatch, "r", "other")
    after, choices = stepped(found, [OPENS] * 2, r=("r",))
    assert after[0].softmax(0).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert after[1].tolist() == OPENS
    assert choices == {"r": Choice((0,), ((0,),), {"agreed": b"", "beams": [[2]]})}


def test_text_that_all_beams_have_is_told(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that all beams have is told where one answer is wanted; and always the tokens of the best texts."""
    for answers, agreed in ((1, b"()"), (2, b"")):
        found = begun(cls, monkeypatch, "r", grammar="text", tokens=(0, 1), answers=answers)
        _, choices = stepped(found, [[0.0] * 4], r=("r",))
        assert choices["r"].news["agreed"] == agreed
        best = choices["r"].news["beams"]
        assert len(best) == answers and all(tokens[:2] == [0, 1] for tokens in best)
        assert not choices["r"].over


def test_a_search_that_cannot_begin_fails_alone(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches of an unknown grammar, or that nobody has begun; whose first row has another text, or whose row is
    missing.
    """
    found = begun(cls, monkeypatch, "lost", grammar="h")
    rows = {"lost": ("lost",), "never": ("lost",)}
    after, choices = stepped(found, [OPENS], **rows)
    assert after.tolist() == [OPENS]
    assert all(choice.over and "unknown" in choice.news["failure"] for choice in choices.values())
    assert set(choices) == set(rows)
    found = begun(cls, monkeypatch, "r", grammar="text")
    _, choices = stepped(found, [OPENS], r=("r",))
    assert "unknown" in choices["r"].news["failure"]
    found = begun(cls, monkeypatch, "r")
    _, choices = stepped(found, [OPENS], r=("r", "r/1"))
    assert "unknown" in choices["r"].news["failure"]


def test_a_search_that_is_over_is_forgotten(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = begun(cls, monkeypatch, "r")
    found.searches.expect(Turns({"r": ("r",)}, ("r",)))
    found.apply(torch.tensor([OPENS]))
    assert "unknown" in found.searches.take()["r"].news["failure"]


def raising(*anything: object) -> Any:
    raise RuntimeError("a fault")


@pytest.mark.parametrize("place", ["beam_search.step", "guide.rows_of"])
def test_after_a_fault_the_witness_is_followed(cls: Any, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """The answer is complete, and tells what interrupted it; others go on."""
    found = begun(cls, monkeypatch, "r")
    with monkeypatch.context() as broken:
        broken.setattr(f"server.backends.vllm.worker.{place}", raising)
        _, choices = stepped(found, [OPENS], r=("r",))
    assert choices["r"].over
    [[tokens, stopped, _, forced, interrupted]] = choices["r"].news["answers"]
    assert (DYCK_VOCABULARY.text(tokens), stopped, forced, interrupted) == (b"x", False, 1, "failure")


def test_where_even_the_witness_fails_the_answer_has_failed(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = begun(cls, monkeypatch, "r")
    monkeypatch.setattr("server.backends.vllm.worker.beam_search.step", raising)
    monkeypatch.setattr(GRAMMAR, "witness", raising, raising=False)
    _, choices = stepped(found, [OPENS], r=("r",))
    assert choices["r"].over and "a fault" in choices["r"].news["failure"]


def test_logits_that_cannot_be_written(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = begun(cls, monkeypatch, "r")
    monkeypatch.setattr("server.backends.vllm.worker.guide.choose", raising)
    _, choices = stepped(found, [OPENS], r=("r",))
    assert choices["r"].news == {"failure": "RuntimeError: a fault"}


def test_a_model_without_some_of_the_tokenizers_ids(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A beam with a token that the model hasn't can't be computed."""
    found = begun(cls, monkeypatch, "r", budget=3, jump_forward=False)
    _, choices = stepped(found, [[0.0]], r=("r",))
    assert (choices["r"].parents, choices["r"].tokens) == ((0,), ((0,),))
    _, choices = stepped(found, [[0.0]], r=("r",))
    assert choices["r"].over
    assert "only 1 tokens" in choices["r"].news["failure"]


def test_a_first_row_may_come_twice(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM may take it back before its first step; the search is the same."""
    found = begun(cls, monkeypatch, "r")
    found.searches.expect(NOTHING)
    found.update_state(BatchUpdate(1, [0], [], []))
    request = SearchRequest("r", "g", Parameters(9, beam_width=2, seed=0))
    found.update_state(BatchUpdate(1, [], [(0, row("r", request), [1], [])], []))
    _, choices = stepped(found, [OPENS], r=("r",))
    assert not choices["r"].over


def test_scores_over_the_whole_vocabulary(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores are those of the decoder, even where every token of a vocabulary has a text or ends one."""
    full = Vocabulary([b"(", b")", b"x", None], [3])
    grammar = compiled(DYCK, full)
    model = model_of("random", 3, grammar, 0)
    parameters = Parameters(7, beam_width=3, seed=1, softmax="vocabulary", ranking="model")
    found = made(cls, full, monkeypatch)
    found.registry.add("g", grammar)
    search = Beams(found, None, SearchRequest("r", "g", parameters), model, random.Random(0))
    assert search.run() == {"answers": [told(answer) for answer in direct(grammar, parameters, model)]}


def test_a_search_without_room_from_the_start_is_answered() -> None:
    """The front end had room to jump, this worker doesn't: the witness is the answer, without any logits."""
    grammar = compile_grammar(Constraint("regex", "ab(c|d)[a-z]{0,9}"), Vocabulary([*LETTERS, None], [len(LETTERS)]))
    parameters = Parameters(budget=5, beam_width=2, answers=2)
    [begun] = Decoder(grammar, parameters).wanted.tokens
    registry = Registry(grammar.vocabulary, no_split)
    registry.add("g", compile_grammar(Constraint("regex", "ab(c|d)[a-z]{0,9}"), grammar.vocabulary))
    table = registry.grammars["g"]._configurations
    table.rules = table.rules._replace(limit=table.count)
    search = Search(registry.language("g"), parameters, begun)
    assert len(search.wishes()) == 1
    search.advance([ValueError("not read")], grammar.vocabulary.size)
    [[tokens, *_, interrupted]] = search.choice.news["answers"]
    assert (grammar.vocabulary.text(tokens), interrupted) == (b"abc", "configurations")
