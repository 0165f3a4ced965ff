"""A logits processor for `model.generate` of transformers, after which every answer is complete within its budget.

    processor = BudgetLogitsProcessor(grammar, tokenizer, max_new_tokens=64)
    model.generate(**inputs, logits_processor=[processor], max_new_tokens=64)

`generate` tells a processor neither where the prompt ends nor what becomes of a row. So the processor looks: rows are
found again by their tokens, wherever beams have moved them, and whichever of an assistant's candidates were dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import torch

from grammar_cache.compile import compile_grammar
from grammar_cache.constraint import Constraint
from grammar_cache.errors import VocabularyError
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.certificate import Certificate
from grammar_cache.hosts.cursor import Cursor
from grammar_cache.hosts.transformers.tokenizers import check_vocabulary, vocabulary_of

Tensor: TypeAlias = torch.Tensor

LARGEST = 1e5
"""Greatest score that is left, up and down. Temperatures divide scores, beams add them up, and call -1e9 no beam."""

Places: TypeAlias = dict[tuple[int, ...], Cursor | None]
"""Places by the tokens of answers; None behind a token that wasn't allowed."""


class BudgetLogitsProcessor:
    """Processor for one call of `generate`, with any number of rows, with beams, sampling or assisted generation.

    `max_new_tokens` is what `generate` is told, or less. Settings of `generate` that end answers by themselves, or keep
    them from ending (`stop_strings`, `min_new_tokens`, `max_time`), break the promise: the processor doesn't see them.
    A beam with a token that wasn't allowed has the score -inf, and is no answer: there are fewer texts than beams then.
    """

    def __init__(self, grammar: CompiledGrammar | Any, tokenizer: Any, max_new_tokens: int) -> None:
        """`grammar`: compiled for the tokenizer's vocabulary, or what `Constraint.of` takes.

        Raises BudgetTooSmall, another GrammarError where the constraint can't be enforced, and VocabularyError where
        the vocabulary isn't the tokenizer's or has no end token.
        """
        self.grammar = _compiled(grammar, tokenizer)
        self.max_new_tokens = max_new_tokens
        self._empty = Cursor(self.grammar, max_new_tokens)
        self._width: int | None = None
        self._prompts: Tensor | None = None
        self._longest = 0
        self._places: Places = {}

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores [rows, ids] of the next tokens behind input_ids [rows, length]: -inf for what isn't allowed.

        Raises VocabularyError for scores that have no place for a token of the vocabulary, or of another model.
        """
        self._check_width(int(scores.shape[1]))
        rows = self._followed(input_ids)
        allowed = self._allowed(rows, int(scores.shape[1])).to(scores.device)
        most = min(LARGEST, torch.finfo(scores.dtype).max)
        out = ~allowed | torch.isnan(scores) | torch.isneginf(scores)
        scores = scores.clamp(-most, most).masked_fill(out, -torch.inf)
        for row in torch.isneginf(scores.max(dim=1).values).nonzero().flatten().tolist():
            scores[row, self._way_out(rows[row])] = 0.0  # or nothing could be drawn
        return scores

    def answer(self, tokens: Sequence[int]) -> tuple[int, ...]:
        """Tokens of an answer up to its end token: what `generate` returns, without the prompt and padding."""
        stops = self.grammar.vocabulary.stop_ids
        end = next((at for at, token in enumerate(tokens) if token in stops), len(tokens))
        return tuple(tokens[: end + 1])

    def certificate(self, tokens: Sequence[int]) -> Certificate:
        """Certificate of an answer, which is what `answer` takes."""
        place = self._empty.fork()
        followed = all(place.accept(token) for token in self.answer(tokens))
        return place.certificate() if followed else replace(place.certificate(), complete=False)

    def _check_width(self, width: int) -> None:
        vocabulary = self.grammar.vocabulary
        if self._width is None:
            if any(vocabulary.spelling[width:]) or any(stop >= width for stop in vocabulary.stop_ids):
                raise VocabularyError(f"the model has {width} logits, and tokens of the tokenizer lie beyond them")
            self._width = width
        if width != self._width:
            raise VocabularyError(f"a processor is for one model: this one has {width} logits, not {self._width}")

    def _followed(self, input_ids: Tensor) -> list[Cursor | None]:
        """Places of the rows; where they don't go on from what is known, a prompt is what they are."""
        places = self._continued(input_ids)
        if places is None:
            self._prompts, self._longest = input_ids.clone(), 0
            places = [((), self._empty)] * len(input_ids)
        self._longest = max(self._longest, int(input_ids.shape[1]))
        self._places = dict(places)
        return [place for _, place in places]

    def _continued(self, input_ids: Tensor) -> list[tuple[tuple[int, ...], Cursor | None]] | None:
        """Answers and places of rows that go on from those before; None if one doesn't."""
        if self._prompts is None or len(self._prompts) != len(input_ids):
            return None
        length = self._prompts.shape[1]
        if not length <= input_ids.shape[1] <= self._longest + 1:
            return None
        if not torch.equal(input_ids[:, :length], self._prompts):
            return None
        found: list[tuple[tuple[int, ...], Cursor | None]] = []
        for tokens in map(tuple, input_ids[:, length:].tolist()):
            place = self._place(tokens)
            if place is None and tokens[:-1] not in self._places:
                return None
            found.append((tokens, place))
        return found

    def _place(self, tokens: tuple[int, ...]) -> Cursor | None:
        """Place behind the tokens of an answer: mostly one token behind a place that is known.

        An assistant's candidates are tried and dropped: then it's found from the place that shares most tokens with it.
        """
        if tokens[:-1] in self._places:
            near = self._places[tokens[:-1]]
        else:
            near = max(filter(None, self._places.values()), key=lambda one: _common(one, tokens), default=self._empty)
        if near is None:
            return None
        place = near.fork()
        place.rollback(len(place.tokens) - _common(place, tokens))
        return place if all(place.accept(token) for token in tokens[len(place.tokens) :]) else None

    def _allowed(self, rows: Sequence[Cursor | None], width: int) -> Tensor:
        """Tokens that may follow each row, bool[rows, width]: end tokens alone, where one wasn't allowed before."""
        vocabulary = self.grammar.vocabulary
        allowed, count = np.zeros((len(rows), width), np.bool_), min(width, vocabulary.size)
        for row, place in zip(allowed, rows, strict=True):
            if place is None:
                row[list(vocabulary.stop_ids)] = True
            else:
                row[:count] = np.unpackbits(place.bitmask(), count=count, bitorder="little")
        return torch.from_numpy(allowed)

    def _way_out(self, place: Cursor | None) -> int:
        """Token that leads to an end, where the model gives a score to no allowed one."""
        found = place.completion() if place is not None and not place.is_ended else ()
        return found[0] if found else self.grammar.vocabulary.stop_ids[0]


def _common(place: Cursor, tokens: Sequence[int]) -> int:
    """Number of tokens that a place and an answer begin with alike."""
    known = place.tokens
    pairs = enumerate(zip(known, tokens, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(known), len(tokens)))


def _compiled(grammar: CompiledGrammar | Any, tokenizer: Any) -> CompiledGrammar:
    if isinstance(grammar, CompiledGrammar):
        vocabulary = grammar.vocabulary
        check_vocabulary(vocabulary, tokenizer)
    else:
        vocabulary = vocabulary_of(tokenizer)
        grammar = compile_grammar(Constraint.of(grammar), vocabulary)
    if not vocabulary.stop_ids:
        raise VocabularyError("the vocabulary has no end token: answers could not end")
    found: CompiledGrammar = grammar
    return found
