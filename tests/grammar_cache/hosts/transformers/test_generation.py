"""`generate`: one call, a complete answer, and a certificate."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

import swyb
from grammar_cache.errors import BudgetTooSmall
from tests.cached import model_folder
from tests.documents import Document, run
from tests.grammar_cache.hosts.transformers.models import model, tokenizer


class Person(BaseModel):
    name: str
    age: int
    tags: list[str]


def test_an_answer_is_a_model_of_pydantic() -> None:
    """Answers of a random model are read back by the class that constrains them, at each budget."""
    for budget in (28, 40):
        answer = swyb.generate(model(), tokenizer(), "the quick brown fox", Person, max_new_tokens=budget)
        Person.model_validate_json(answer.text)
        assert answer.certificate.complete and answer.certificate.tokens_used == len(answer.tokens) <= budget


def test_messages_and_settings() -> None:
    """Messages go by the chat template; settings of sampling are the model's own."""
    settings = GenerationConfig(do_sample=True, temperature=2.0)
    messages = [{"role": "user", "content": "again"}]
    made = model()
    texts = {swyb.generate(made, tokenizer(), messages, Person, 40, settings).text for _ in range(3)}
    assert len(texts) == 3
    assert settings.max_new_tokens is None


def test_what_would_cut_an_answer_is_refused() -> None:
    """Settings that end answers by themselves, and budgets that no answer fits, are errors before the model runs."""
    for settings in (GenerationConfig(stop_strings=["}"]), GenerationConfig(min_new_tokens=5)):
        with pytest.raises(ValueError, match="not supported here"):
            swyb.generate(model(), tokenizer(), "the", Person, 60, settings)
    with pytest.raises(BudgetTooSmall):
        swyb.generate(model(), tokenizer(), "the", Person, 5)


def test_the_window_bounds_the_budget() -> None:
    """An answer fits what a prompt leaves of the model's window."""
    made, prompt = model(), "the quick " * 10
    room = made.config.max_position_embeddings - len(tokenizer()(prompt)["input_ids"])
    answer = swyb.generate(made, tokenizer(), prompt, Person, 600)
    assert answer.certificate.budget == room < 600 and answer.certificate.complete
    with pytest.raises(ValueError, match="and the model can take"):
        swyb.generate(made, tokenizer(), prompt * 4, Person, 600)


def test_an_answer_may_have_no_tokens() -> None:
    """A budget of no tokens is answered by the empty text, if that belongs; one below is refused."""
    maybe = swyb.Constraint("choice", '["", "the"]')
    answer = swyb.generate(model(), tokenizer(), "the", maybe, 0)
    assert (answer.text, answer.tokens, answer.certificate.complete) == ("", (), True)
    with pytest.raises(BudgetTooSmall, match="the budget is -1"):
        swyb.generate(model(), tokenizer(), "the", maybe, -1)


@pytest.mark.model
@pytest.mark.full
def test_the_embedded_model_answers_within_the_minimum() -> None:
    """A real model's answer at the minimum and above it is complete."""
    folder = model_folder()
    real, names = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    with pytest.raises(BudgetTooSmall) as refusal:
        swyb.generate(real, names, "Describe Ada.", Person, 1)
    for budget in (refusal.value.min_tokens, refusal.value.min_tokens + 6):
        answer = swyb.generate(real, names, [{"role": "user", "content": "Describe Ada."}], Person, budget)
        assert json.loads(answer.text).keys() == {"name", "age", "tags"}


def test_the_samples_of_the_page_run() -> None:
    """The page's samples run in order, on a batch of two rows, and print what they say."""
    namespace: dict[str, Any] = {"model": model(), "tokenizer": tokenizer(), "Person": {"enum": ["Ada", "Marie"]}}
    samples = Document("docs/how-to/transformers.md").blocks("python")
    told = [line for _, code in samples for line in run(code, namespace)]
    assert told == [("True", "True")]
    prompt = namespace["inputs"]["input_ids"].shape[1]
    texts = [namespace["processor"].answer(row[prompt:]) for row in namespace["output"].tolist()]
    assert {json.loads(tokenizer().decode(text, skip_special_tokens=True)) for text in texts} <= {"Ada", "Marie"}
