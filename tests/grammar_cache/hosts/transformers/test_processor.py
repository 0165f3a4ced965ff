"""The processor under `generate` of transformers: batches, beams, draws, assistants, and hostile models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from jsonschema import Draft202012Validator
from transformers import GenerationConfig

from grammar_cache import Constraint, Vocabulary, compile_grammar
from grammar_cache.errors import BudgetTooSmall, VocabularyError
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.conformance.cases import CASES
from grammar_cache.hosts.conformance.hostile_scores import HOSTILE, Model
from grammar_cache.hosts.conformance.laws import check_answers
from grammar_cache.hosts.transformers.processor import BudgetLogitsProcessor
from tests.grammar_cache.hosts.transformers.models import model, tokenizer

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "tags": {"type": "array"}},
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}
PROMPTS = ("the quick brown fox", "again and again and over", "thing")


@pytest.fixture(scope="module")
def grammar() -> CompiledGrammar:
    return compile_grammar(Constraint.of(SCHEMA), Vocabulary.from_tokenizer(tokenizer()))


def answers(grammar: CompiledGrammar, budget: int, rows: int = 1, **settings: Any) -> list[str]:
    """Texts that a random model answers to so many prompts, all of them within the budget."""
    processor = BudgetLogitsProcessor(grammar, tokenizer(), budget)
    inputs = tokenizer()(list(PROMPTS[:rows]), return_tensors="pt", padding=True)
    torch.manual_seed(3)
    found = model().generate(
        input_ids=inputs["input_ids"],
        attention_mask=inputs["attention_mask"],
        logits_processor=[processor],
        max_new_tokens=budget,
        **settings,
    )
    texts = []
    for row in found[:, inputs["input_ids"].shape[1] :].tolist():
        told = processor.certificate(row)
        assert told.complete and told.tokens_used <= budget == told.budget
        texts.append(grammar.vocabulary.text(processor.answer(row)).decode())
    assert all(Draft202012Validator(SCHEMA).is_valid(json.loads(text)) for text in texts), texts
    return texts


WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "draws": {"do_sample": True, "temperature": 1.5},
    "few draws": {"do_sample": True, "temperature": 0.7, "top_k": 3, "top_p": 0.5},
    "beams": {"num_beams": 4},
    "all beams": {"num_beams": 3, "num_return_sequences": 3},
    "drawn beams": {"num_beams": 3, "do_sample": True},
    "penalties": {"repetition_penalty": 5.0, "no_repeat_ngram_size": 1},
}


@pytest.mark.parametrize("way", WAYS)
def test_all_ways_of_generate_are_complete(grammar: CompiledGrammar, way: str) -> None:
    """Answers of batches are valid JSON within budgets from the minimum on, however tokens are chosen."""
    least = grammar.minimum.tokens
    for budget in (least, least + 8):
        wanted = 3 * WAYS[way].get("num_return_sequences", 1)
        assert len(answers(grammar, budget, rows=3, **WAYS[way])) == wanted


def test_a_batch_answers_as_its_rows_alone(grammar: CompiledGrammar) -> None:
    """Rows that end early don't disturb others, and greedy texts are those of the prompt alone."""
    together = answers(grammar, 44, rows=1, do_sample=False)
    assert answers(grammar, 44, rows=3, do_sample=False)[0] == together[0]


@pytest.mark.parametrize("settings", [{}, {"do_sample": True}], ids=["greedy", "draws"])
@pytest.mark.parametrize("seed", [7, 8], ids=["the model itself", "another model"])
def test_an_assistant_changes_nothing(grammar: CompiledGrammar, settings: dict[str, Any], seed: int) -> None:
    """Candidates of an assistant are accepted or dropped: greedy texts are those without one, drawn ones complete."""
    for budget in (grammar.minimum.tokens, 34):
        alone = answers(grammar, budget, **settings)
        assisted = answers(grammar, budget, assistant_model=model(seed), **settings)
        assert settings or assisted == alone


def test_drafts_from_the_prompt_change_nothing(grammar: CompiledGrammar) -> None:
    """Candidates that are looked up in the prompt are no constraint's: greedy texts are those without them."""
    for budget in (grammar.minimum.tokens, 34):
        assert answers(grammar, budget, prompt_lookup_num_tokens=5) == answers(grammar, budget)


def generated(grammar: CompiledGrammar, budget: int, wanted: Model) -> Sequence[int]:
    """Greedy answer of a model that wants what it's told. `generate` has no answers without a token."""
    processor = BudgetLogitsProcessor(grammar, tokenizer(), budget)
    if budget == 0:
        return ()
    prompt = tokenizer()(PROMPTS[0], return_tensors="pt")["input_ids"]
    found = model(wants=wanted, prompt_length=prompt.shape[1]).generate(
        input_ids=prompt,
        attention_mask=torch.ones_like(prompt),
        logits_processor=[processor],
        generation_config=GenerationConfig(
            max_new_tokens=budget,
            do_sample=False,
            eos_token_id=list(grammar.vocabulary.stop_ids),
            pad_token_id=grammar.vocabulary.stop_ids[0],
        ),
    )
    return processor.answer(found[0, prompt.shape[1] :].tolist())


@pytest.mark.parametrize("number", range(0, len(CASES), 5))
def test_the_processor_passes_the_conformance_kit(number: int) -> None:
    """Answers of hostile models in some of the kit's cases are complete, by judges that know nothing of us."""
    check_case(number, [list(HOSTILE)[(number // 5) % len(HOSTILE)]])


@pytest.mark.full
@pytest.mark.parametrize("number", range(len(CASES)))
def test_the_processor_passes_all_of_the_conformance_kit(number: int) -> None:
    """Runs all cases with all hostile models."""
    check_case(number, list(HOSTILE))


def check_case(number: int, models: list[str]) -> None:
    case = CASES[number]
    grammar = compile_grammar(case.constraint, Vocabulary.from_tokenizer(tokenizer()))
    check_answers(case, grammar, generated, models)


def test_a_processor_finds_out_that_others_begin(grammar: CompiledGrammar) -> None:
    """Prompts that follow each other, longer or shorter, and even with an answer inside, each get a complete answer."""
    processor = BudgetLogitsProcessor(grammar, tokenizer(), 28)
    made, prompt = model(), tokenizer()(PROMPTS[0], return_tensors="pt")["input_ids"]
    for more in ([], [5], list(range(5, 45)), [], [7] * 21):
        before = torch.cat([prompt, torch.tensor([more], dtype=torch.long)], dim=1)
        ones = torch.ones_like(before)
        found = made.generate(input_ids=before, attention_mask=ones, logits_processor=[processor], max_new_tokens=28)
        assert processor.certificate(found[0, before.shape[1] :].tolist()).complete


GREATEST: dict[str, dict[str, Any]] = {
    "cold draws": {"do_sample": True, "temperature": 0.3},
    "cold draws of what is banned": {"do_sample": True, "temperature": 0.3, "no_repeat_ngram_size": 1},
    "beams of what is banned": {"num_beams": 3, "no_repeat_ngram_size": 1},
    "lasting beams": {"num_beams": 3, "no_repeat_ngram_size": 1, "early_stopping": "never", "length_penalty": 0.0},
}


@pytest.mark.parametrize("way", GREATEST)
@pytest.mark.parametrize("score", [float("inf"), float("-inf")])
def test_the_greatest_scores_there_are_do_no_harm(grammar: CompiledGrammar, way: str, score: float) -> None:
    """Scores that a temperature or a sum would make infinite: a model's, and those of `remove_invalid_values`."""
    processor = BudgetLogitsProcessor(grammar, tokenizer(), budget := grammar.minimum.tokens)
    prompt = tokenizer()(PROMPTS[0], return_tensors="pt")["input_ids"]
    made = model(wants=lambda tokens: np.full(len(tokenizer()), score, np.float32), prompt_length=prompt.shape[1])
    torch.manual_seed(3)
    found = made.generate(
        input_ids=prompt,
        attention_mask=torch.ones_like(prompt),
        logits_processor=[processor],
        max_new_tokens=budget,
        remove_invalid_values=True,
        **GREATEST[way],
    )
    assert processor.certificate(found[0, prompt.shape[1] :].tolist()).complete


def test_refusals_come_before_the_model(grammar: CompiledGrammar) -> None:
    """A budget that is too small and a grammar of another vocabulary are typed errors at construction."""
    with pytest.raises(BudgetTooSmall, match="needs at least"):
        BudgetLogitsProcessor(grammar, tokenizer(), grammar.minimum.tokens - 1)
    endless = compile_grammar(Constraint("regex", "a*"), Vocabulary([b"a"], []))
    with pytest.raises(VocabularyError, match="another vocabulary"):
        BudgetLogitsProcessor(endless, tokenizer(), 20)
    bytes_alone = Vocabulary([bytes([byte]) for byte in range(256)], [tokenizer().eos_token_id])
    with pytest.raises(VocabularyError, match="not the tokenizer's"):
        BudgetLogitsProcessor(compile_grammar(Constraint("regex", "a*"), bytes_alone), tokenizer(), 20)
    with pytest.raises(ValueError, match="leads out of the schema"):
        BudgetLogitsProcessor({"$ref": "https://elsewhere.example/schema"}, tokenizer(), 20)


def test_logits_that_lack_tokens_are_refused(grammar: CompiledGrammar) -> None:
    """A model with fewer logits than the vocabulary has tokens, or a second model, is a typed error."""
    prompt = torch.tensor([[3, 4]])
    with pytest.raises(VocabularyError, match="lie beyond"):
        BudgetLogitsProcessor(grammar, tokenizer(), 40)(prompt, torch.zeros(1, 100))
    own = Vocabulary.from_tokenizer(tokenizer())
    longer = Vocabulary([*own.token_bytes, *[None] * 80], own.stop_ids, {own.size + 30: "<call>"})
    calling = compile_grammar(Constraint("gbnf", 'root ::= <call> "x"'), longer)
    with pytest.raises(VocabularyError, match="lie beyond"):
        BudgetLogitsProcessor(calling, tokenizer(), 40)(prompt, torch.zeros(1, own.size))
    processor = BudgetLogitsProcessor(grammar, tokenizer(), 40)
    processor(prompt, torch.zeros(1, 300))
    with pytest.raises(VocabularyError, match="one model"):
        processor(prompt, torch.zeros(1, 320))
