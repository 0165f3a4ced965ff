"""One complete answer of a model of transformers, with its certificate.

answer = generate(model, tokenizer, "Describe Ada as JSON.", Person, max_new_tokens=64)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from grammar_cache.compile import compile_grammar
from grammar_cache.constraint import Constraint
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.certificate import Certificate
from grammar_cache.hosts.transformers.processor import BudgetLogitsProcessor
from grammar_cache.hosts.transformers.tokenizers import vocabulary_of

_IDLE = {
    "min_length": (0, None),
    "min_new_tokens": (None, 0),
    "stop_strings": (None,),
    "max_time": (None,),
    "forced_bos_token_id": (None,),
    "forced_eos_token_id": (None,),
    "num_return_sequences": (1, None),
    "prefill_chunk_size": (None,),
}
"""Settings of `generate` that would cut an answer, or make it another one's, and the values that do neither."""


@dataclass(frozen=True, slots=True)
class Generation:
    """An answer: its text, the tokens with an end token if there is one, and what was guaranteed."""

    text: str
    tokens: tuple[int, ...]
    certificate: Certificate


def generate(
    model: Any,
    tokenizer: Any,
    prompt: str | Sequence[Mapping[str, str]],
    constraint: Any,
    max_new_tokens: int,
    generation_config: Any = None,
) -> Generation:
    """Answer to a prompt, a text or messages for the tokenizer's chat template, of at most `max_new_tokens`.

    `constraint`: what `Constraint.of` takes, or a grammar compiled for the model's tokenizer and all its end tokens,
    which saves compiling it again. `generation_config`: a GenerationConfig with whatever else `model.generate` is to
    do: sampling, beams, an assistant's settings. Fewer tokens are left where the model's window is nearly full.

    Raises GrammarError for a constraint that can't be enforced, BudgetTooSmall, and ValueError for settings that would
    cut answers and for a prompt that the model can't take.
    """
    settings = generation_config if generation_config is not None else model.generation_config
    _check(settings)
    if model.config.is_encoder_decoder:
        raise ValueError("models with an encoder have no prompt before their answer: take BudgetLogitsProcessor")
    inputs = _encoded(tokenizer, prompt).to(model.device)
    length = int(inputs["input_ids"].shape[1])
    grammar = constraint
    if not isinstance(grammar, CompiledGrammar):
        vocabulary = vocabulary_of(tokenizer, _ends(model.generation_config) | _ends(settings))
        grammar = compile_grammar(Constraint.of(constraint), vocabulary)
    window = _window(model)
    if length > window:
        raise ValueError(f"the prompt has {length} tokens, and the model can take {window}")
    budget = min(max_new_tokens, window - length)
    processor = BudgetLogitsProcessor(grammar, tokenizer, budget)
    if budget == 0:
        return Generation("", (), processor.certificate(()))
    ends = list(grammar.vocabulary.stop_ids)
    settings = deepcopy(settings)
    settings.update(max_new_tokens=budget, max_length=None, eos_token_id=ends, pad_token_id=ends[0])
    found = model.generate(**inputs, generation_config=settings, logits_processor=[processor])
    sequences = found if hasattr(found, "tolist") else found.sequences
    tokens = processor.answer(sequences[0].tolist()[length:])
    certificate = processor.certificate(tokens)
    if not certificate.complete:
        raise RuntimeError("the answer is not complete: the model's `generate` did not take what its processor allows")
    return Generation(grammar.vocabulary.text(tokens).decode(errors="replace"), tokens, certificate)


def _encoded(tokenizer: Any, prompt: str | Sequence[Mapping[str, str]]) -> Any:
    if isinstance(prompt, str):
        return tokenizer(prompt, return_tensors="pt")
    return tokenizer.apply_chat_template(
        list(prompt), add_generation_prompt=True, return_tensors="pt", return_dict=True
    )


def _ends(settings: Any) -> frozenset[int]:
    found = settings.eos_token_id
    return frozenset([] if found is None else [found] if isinstance(found, int) else found)


def _window(model: Any) -> int:
    """Tokens that the model can see, as far as it says so."""
    found = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return found if isinstance(found, int) and found > 0 else 1 << 31


def _check(settings: Any) -> None:
    for name, idle in _IDLE.items():
        value = getattr(settings, name, None)
        if value not in idle:
            raise ValueError(f"{name} = {value!r} may cut an answer, or keep it from ending: it is not supported here")
