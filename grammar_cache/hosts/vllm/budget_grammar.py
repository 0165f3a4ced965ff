"""Grammar of a request in vLLM's engine core: StructuredOutputGrammar, with the request's budget.

The object counts for itself. It is told the drafts of a step, and all tokens that become output, thoughts among them;
each mask is that of the next position. What vLLM's manager would have it accept and take back changes nothing. No
exception leaves it where vLLM's engine would end with it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.certificate import Certificate
from grammar_cache.hosts.cursor import Cursor
from grammar_cache.hosts.thinking import ThinkingCursor

log = logging.getLogger("vllm.swyb_budget")

Place: TypeAlias = Cursor | ThinkingCursor


@dataclass(frozen=True, slots=True)
class Thoughts:
    """Ends of a model's thoughts: tokens that close them, and how many are then left at least."""

    closer: tuple[int, ...]
    reserve: int


class BudgetGrammar:
    """Place of one request. One thread uses it at a time; its compiled grammar is shared, and locked."""

    def __init__(
        self,
        grammar: CompiledGrammar,
        budget: int,
        ends: frozenset[int],
        thoughts: Thoughts | None = None,
        *,
        shortest: bool = False,
        ends_from: int = 0,
    ) -> None:
        """`budget`: tokens of thoughts and answer; `ends`: tokens at which vLLM ends the request, one of them at least.
        One that the vocabulary doesn't have as an end ends texts that nothing can follow. `shortest`: an answer ends
        where it first is complete. `ends_from`: tokens before which no end is taken where another token may come.

        Raises BudgetTooSmall.
        """
        self._grammar = grammar
        self._shortest = shortest
        self._ends_from = ends_from
        self._foreign = [token for token in grammar.vocabulary.stop_ids if token not in ends]
        self._spare = ends - frozenset(grammar.vocabulary.stop_ids)
        self._ends = tuple(sorted(ends))
        self._place: Place = Cursor(grammar, budget)
        if thoughts is not None:
            self._place = ThinkingCursor(
                grammar, budget, thoughts.closer, reserve=thoughts.reserve, excluded=self._foreign
            )
        self._least = self._place.certificate().min_tokens
        self._thought: tuple[bool, ...] = ()
        """Whether the budget kept something out before each token of thoughts that ended without their closer."""
        self._end: tuple[bool, ...] = ()
        """Whether the budget kept something out before the end, where one came that the vocabulary doesn't have."""
        self._drafts: list[int] = []
        self._row = 0
        self._ahead = 0

    @property
    def complete(self) -> bool:
        """Whether what was committed is a complete answer."""
        return self._place.is_accepting

    @property
    def is_thinking(self) -> bool:
        """Whether thoughts are still to end."""
        return isinstance(self._place, ThinkingCursor) and self._place.is_thinking

    @property
    def tight_places(self) -> tuple[int, ...]:
        """Places of committed tokens before which the budget kept out something that the constraint allows."""
        before = [place for place, tight in enumerate(self._thought) if tight]
        behind, end = len(self._thought), len(self._thought) + len(self._place.tokens)
        own = [behind + place for place in self._place.tight_places]
        return (*before, *own, *(end for tight in self._end if tight))

    def certificate(self) -> Certificate:
        """Certificate of what was committed, thoughts and answer together."""
        found = self._place.certificate()
        beside = (*self._thought, *self._end)
        return replace(
            found,
            budget=found.budget + len(self._thought),
            tokens_used=found.tokens_used + len(beside),
            min_tokens=self._least,
            tight_steps=found.tight_steps + sum(beside),
        )

    def begin_step(self, drafts: Sequence[int]) -> None:
        """Begins the masks of a step, whose drafts these are, -1 for those that aren't known."""
        self._drafts, self._row, self._ahead = list(drafts), 0, 0

    def end_step(self) -> None:
        """Takes the drafts back."""
        self._place.rollback(self._ahead)
        self._row = self._ahead = 0

    def commit(self, tokens: Sequence[int]) -> bool:
        """Goes on behind tokens that have become output; False where one isn't allowed, or can't be followed."""
        return all(self._ends_with_spare() if token in self._spare else self._accept(token) for token in tokens)

    def end_thoughts(self, count: int) -> bool:
        """Begins the answer with the last `count` tokens: vLLM says that thoughts have ended without their closer.

        False where the answer can't begin so.
        """
        tokens, left, tight = self._place.tokens, self._place.tokens_left, self._place.tight_places
        answer = len(tokens) - count
        self._thought = tuple(place in tight for place in range(answer))
        self._place = Cursor(self._grammar, left + count)
        return self.commit(tokens[answer:])

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """The drafts up to the first that isn't allowed; nothing is accepted."""
        count = next((at for at, token in enumerate(tokens) if not self._accept(token)), len(tokens))
        self._place.rollback(count)
        return tokens[:count]

    def fill_bitmask(self, bitmask: Any, batch_index: int) -> None:
        """Writes the mask of the step's next position to a row of vLLM's: a tensor's, int32[rows, words]."""
        self.fill(bitmask[batch_index].numpy())

    def fill(self, row: NDArray[np.int32]) -> None:
        """Writes the mask of the step's next position to int32[words]."""
        position, self._row = self._row, self._row + 1
        if 0 < position <= len(self._drafts) and self._ahead == position - 1:
            self._ahead += self._accept(self._drafts[position - 1])  # behind a wrong one, no mask is used
        try:
            self._fill(row)
        except Exception:
            log.exception("a mask has failed: the answer follows its shortest completion")
            _only(row, self._way_out())
        if self._foreign:
            _forbid(row, self._foreign)

    def _accept(self, token: int) -> bool:
        try:
            return self._place.accept(token)
        except Exception:
            log.exception("a token can't be followed: it counts as one that isn't allowed")
            return False

    def _ends_with_spare(self) -> bool:
        if not self._place.is_accepting:
            return False
        try:
            self._end = (self._place.is_tight,)
        except Exception:
            log.exception("a mask has failed: the budget counts as what ended the answer")
            self._end = (True,)
        return True

    def _fill(self, row: NDArray[np.int32]) -> None:
        if self._shortest and self._place.is_accepting:
            _only(row, self._ends)
            return
        self._place.fill(row)
        if self._spare and not row.any():
            _only(row, self._ends)
        elif len(self._thought) + self._place.budget - self._place.tokens_left < self._ends_from:
            more = row.copy()
            _forbid(more, self._ends)
            if more.any():
                row[:] = more

    def _way_out(self) -> tuple[int, ...]:
        """Next token of the shortest completion; where none is found, the ends, at which the request then fails."""
        try:
            return self._place.completion()[:1] or self._ends
        except Exception:
            log.exception("a completion has failed: its request ends")
            return self._ends

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Says that the tokens are right: `commit` and the masks have seen to them."""
        return True

    def rollback(self, num_tokens: int) -> None:
        """Does nothing: see `end_step`."""

    def is_terminated(self) -> bool:
        return False  # rows behind an end allow an end alone

    def reset(self) -> None:
        self._end = ()
        self._place.rollback(len(self._place.tokens))


def _only(row: NDArray[np.int32], tokens: Sequence[int]) -> None:
    row[:] = 0
    for token in tokens:
        row.view(np.uint32)[token >> 5] |= np.uint32(1 << (token & 31))


def _forbid(row: NDArray[np.int32], tokens: Sequence[int]) -> None:
    for token in tokens:
        if token >> 5 < len(row):
            row.view(np.uint32)[token >> 5] &= ~np.uint32(1 << (token & 31))
