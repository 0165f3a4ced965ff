"""Grammar of a request as vLLM's engine core asks for it: StructuredOutputGrammar, with the request's budget.

Where a model thinks first, its thoughts are free but for end tokens, as long as there is room for more: then they are
closed, and what is left belongs to the answer.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.cursor import Cursor

log = logging.getLogger("vllm.swyb_budget")


@dataclass(frozen=True, slots=True)
class Thinking:
    """Thoughts of a model: tokens that close them, those that are then left, and the most drafts of one step."""

    closer: tuple[int, ...]
    reserve: int
    drafts: int


class BudgetGrammar:
    """Place of one request. One thread uses it at a time; its grammar is shared, and locked."""

    def __init__(
        self, grammar: CompiledGrammar, request: Any, budget: int, ends: frozenset[int], thinking: Thinking | None
    ) -> None:
        """`budget`: tokens of thoughts and answer; `ends`: tokens at which vLLM ends the request.

        Raises BudgetTooSmall.
        """
        self._grammar = grammar
        self._request = request
        self._budget = budget
        self._thinking = thinking
        self._foreign = [token for token in grammar.vocabulary.stop_ids if token not in ends]
        self._ends = sorted(ends)
        self._cursor = Cursor(grammar, budget if thinking is None else budget - len(thinking.closer))
        self._begun = thinking is None
        self.committing = False
        """Whether tokens that are accepted are the request's output already, and no drafts."""
        self.free_rows = 0
        """Number of masks of this step that were filled with thoughts."""

    @property
    def complete(self) -> bool:
        """Whether what was accepted is a complete answer."""
        return self._begun and self._cursor.is_accepting

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Goes on behind tokens; False where one isn't allowed."""
        if not self._begun:
            self._begin(self._request.num_output_tokens - (len(tokens) if self.committing else 0))
        return all(self._cursor.accept(token) for token in tokens)

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """The drafts up to the first that isn't allowed; nothing is accepted."""
        if not self._begun:
            self._begin(self._request.num_output_tokens)
        count = next((at for at, token in enumerate(tokens) if not self._cursor.accept(token)), len(tokens))
        self.rollback(count)
        return tokens[:count]

    def rollback(self, num_tokens: int) -> None:
        """Takes drafts back."""
        self._cursor.rollback(num_tokens)
        if self._thinking is not None and not self._cursor.tokens and not self._ended_thinking():
            self._begun = False  # where the thoughts end is known for certain only when they have

    def fill_bitmask(self, bitmask: Any, batch_index: int) -> None:
        """Writes the mask of the place to a row of vLLM's. An exception would end its engine, so none escapes."""
        if not self._begun:
            self._begin(self._request.num_output_tokens)
        row: NDArray[np.int32] = bitmask[batch_index].numpy()
        try:
            self._cursor.fill(row)
        except Exception:
            log.exception("a mask has failed: the answer follows its shortest completion")
            _only(row, *(self._cursor.completion()[:1] or self._ends))
        for token in self._foreign:
            _forbid(row, token)

    def fill_thoughts(self, bitmask: Any, batch_index: int) -> None:
        """Writes the mask of a thought: whatever ends nothing, or the closer's next token where room is running out."""
        assert self._thinking is not None
        row: NDArray[np.int32] = bitmask[batch_index].numpy()
        ahead, self.free_rows = self.free_rows, self.free_rows + 1
        closer, done = self._thinking.closer, self._closed()
        left = self._budget - self._request.num_output_tokens - (len(closer) - done)
        if done + ahead < len(closer) and left - ahead <= self._thinking.reserve + self._thinking.drafts + done:
            # A row counts only where all drafts before it were what their masks had left: more of the closer.
            _only(row, closer[done + ahead])
            return
        row[:] = -1
        for token in (*self._ends, *self._foreign):
            _forbid(row, token)

    def is_terminated(self) -> bool:
        return self._cursor.is_ended

    def reset(self) -> None:
        self._cursor.rollback(len(self._cursor.tokens))

    @property
    def thinks(self) -> bool:
        """Whether thoughts come before the answer."""
        return self._thinking is not None

    def _begin(self, spent: int) -> None:
        """Begins the answer behind thoughts of so many tokens, or in the midst of drafts."""
        assert self._thinking is not None
        if not self._ended_thinking():
            spent += self._thinking.drafts  # perhaps fewer: it's not told at which of them
        self._cursor = Cursor(self._grammar, self._budget - spent)
        self._begun = True

    def _ended_thinking(self) -> bool:
        return bool(self._request.structured_output_request.reasoning_ended)

    def _closed(self) -> int:
        """Number of the closer's tokens that the output ends with."""
        assert self._thinking is not None
        output, closer = self._request.output_token_ids, self._thinking.closer
        fitting = (count for count in range(len(closer) - 1, 0, -1) if tuple(output[-count:]) == closer[:count])
        return next(fitting, 0)


def _only(row: NDArray[np.int32], *tokens: int) -> None:
    row[:] = 0
    for token in tokens:
        row.view(np.uint32)[token >> 5] |= np.uint32(1 << (token & 31))


def _forbid(row: NDArray[np.int32], token: int) -> None:
    if token >> 5 < len(row):
        row.view(np.uint32)[token >> 5] &= ~np.uint32(1 << (token & 31))
