"""A request's place in a grammar: what has been generated, what may come next, and how many tokens are left.

A host asks for a mask, accepts the token that its model has chosen, and takes tokens back that were only drafted. The
mask of a draft's position is asked for where it stands, behind the drafts before it: as many tokens fewer are left
there.

All methods hold the grammar's lock, so that cursors of one grammar may be used by several threads; one cursor belongs
to one thread at a time.
"""

from __future__ import annotations

from contextlib import suppress
from operator import index

import numpy as np
from numpy.typing import NDArray

from grammar_cache.errors import BudgetTooSmall, LimitExceeded
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.certificate import Certificate
from grammar_cache.masks.mask import Mask
from grammar_cache.vocabulary.token_set import Bits, allowed, mask_bytes

DRAFTED = 64
"""Tokens that can be taken back at once where the grammar has been begun anew: farther back the text is followed."""


class Cursor:
    """Place in a grammar behind the tokens that were accepted.

    As long as every token is one that the mask allows, some token is allowed or the text is complete, and it is
    complete when no tokens are left.
    """

    def __init__(self, grammar: CompiledGrammar, budget: int) -> None:
        """Begins an answer of at most `budget` tokens. Raises BudgetTooSmall, TypeError for what is no whole number."""
        budget = index(budget)
        with grammar.lock:
            self._grammar = grammar.renewed()
            minimum = grammar.minimum
        if budget < minimum.tokens:
            raise BudgetTooSmall(budget, minimum.tokens, minimum.exact)
        self.budget = budget
        self._path = [self._grammar.start]  # of all places, or of the last ones
        self._tokens: list[int] = []
        self._tight: list[bool] = []
        self._asked: tuple[int, int, Mask] | None = None  # the last mask, with its configuration and tokens left

    @property
    def tokens(self) -> tuple[int, ...]:
        """Tokens that were accepted, an end token included."""
        return tuple(self._tokens)

    @property
    def tokens_left(self) -> int:
        """Tokens that the answer may still have; -1 where an end token follows a text that took them all."""
        return self.budget - len(self._tokens)

    @property
    def is_ended(self) -> bool:
        """Whether an end token was accepted: nothing follows it."""
        return bool(self._tokens) and self._tokens[-1] in self._grammar.vocabulary.stop_ids

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is complete."""
        with self._grammar.lock:
            return self._grammar.accepts(self._path[-1])

    @property
    def tight_places(self) -> tuple[int, ...]:
        """Places of accepted tokens before which the budget kept out something that the constraint allows."""
        return tuple(place for place, tight in enumerate(self._tight) if tight)

    @property
    def is_tight(self) -> bool:
        """Whether the budget keeps out a token here that the constraint allows."""
        here, left = self._path[-1], self.tokens_left
        if self._asked is not None and self._asked[:2] == (here, left) and self._asked[2].narrowed is not None:
            return self._asked[2].narrowed
        with self._grammar.lock:
            try:
                return self._grammar.is_tight(here, left)
            except LimitExceeded:
                return True

    def bitmask(self) -> Bits:
        """Tokens that may come next, one bit each, little-endian in multiples of 32; read-only.

        End tokens are allowed iff the text is complete, and nothing else behind one of them.
        """
        return self._mask().whole()

    def fill(self, row: NDArray[np.int32]) -> None:
        """Writes the mask to a row of a host's, int32[words], a bit for each id; ids beyond the vocabulary get 0.

        Raises ValueError where the row has no room for a token that is allowed.
        """
        self._mask().fill(row)

    def allows(self, token: int) -> bool:
        """Whether the mask allows a token; none behind an end token, where masks hold end tokens all the same."""
        if self.is_ended:
            return False
        if token in self._grammar.vocabulary.stop_ids:
            return self.is_accepting
        if self.tokens_left <= 0 or not 0 <= token < self._grammar.vocabulary.size:
            return False
        if self._asked is not None and self._asked[:2] == (self._path[-1], self.tokens_left):
            return token in self._asked[2]
        with self._grammar.lock:
            self._renew()
            try:
                ids = np.array([token], np.int32)
                return self._grammar.first_viable(self._path[-1], ids, self.tokens_left - 1) is not None
            except LimitExceeded:
                return token in self._mask()  # by a copy that has more room, or by the completion

    def accept(self, token: int) -> bool:
        """Goes on behind a token, if the mask allows it; else nothing happens, and the answer is False."""
        with self._grammar.lock:
            if not self.allows(token):
                return False
            here, after = self._path[-1], self._path[-1]
            tight = self.is_tight
            if token not in self._grammar.vocabulary.stop_ids:
                after = self._grammar.take(here, token)
            self._tokens.append(token)
            self._path.append(after)
            self._tight.append(tight)
            return True

    def rollback(self, count: int) -> None:
        """Takes the last `count` tokens back. Raises ValueError where there are fewer."""
        if not 0 <= count <= len(self._tokens):
            raise ValueError(f"{count} tokens can't be taken back: there are {len(self._tokens)}")
        kept = len(self._tokens) - count
        del self._tokens[kept:], self._tight[kept:]
        if count < len(self._path):
            del self._path[len(self._path) - count :]
            return
        with self._grammar.lock:
            self._path = [self._grammar.start, *self._grammar.followed(self._tokens)]

    def fork(self) -> Cursor:
        """Another cursor at the same place, that goes its own way."""
        other = Cursor.__new__(Cursor)
        other.budget, other._grammar = self.budget, self._grammar
        other._path, other._tokens, other._tight = self._path.copy(), self._tokens.copy(), self._tight.copy()
        other._asked = self._asked
        return other

    __copy__ = fork

    def certificate(self) -> Certificate:
        """Certificate of what was accepted, as an answer."""
        with self._grammar.lock:
            minimum = self._grammar.minimum
        return Certificate(
            complete=self.is_accepting,
            budget=self.budget,
            tokens_used=len(self._tokens),
            min_tokens=minimum.tokens,
            exact=minimum.exact,
            tight_steps=sum(self._tight),
        )

    def completion(self) -> tuple[int, ...]:
        """Tokens that complete the text, at most `tokens_left`: for whoever can't ask the model any more."""
        with self._grammar.lock:
            return self._grammar.witness(self._path[-1], self.tokens_left)

    def _mask(self) -> Mask:
        grammar, here, left = self._grammar, self._path[-1], self.tokens_left
        if left <= 0 or self.is_ended:
            return self._only(grammar.vocabulary.stop_ids if self.is_accepting else ())
        with grammar.lock:
            mask = grammar.known_mask(here, left)
            if mask is None:
                mask = self._made(left)
            self._asked = self._path[-1], left, mask
            return mask

    def _made(self, left: int) -> Mask:
        for _ in range(2):  # once more by a copy, that has room
            self._renew()
            with suppress(LimitExceeded):
                return self._grammar.token_mask(self._path[-1], left)
        return self._only(self._way_out())

    def _only(self, tokens: tuple[int, ...]) -> Mask:
        return Mask.alone(allowed(tokens, mask_bytes(self._grammar.vocabulary.size)))

    def _way_out(self) -> tuple[int, ...]:
        """Next token of the completion; where the text is complete, its end."""
        return self.completion()[:1] or self._grammar.vocabulary.stop_ids

    def _renew(self) -> None:
        """Goes on in a grammar that was begun anew, if this one is full: other numbers, the same answers."""
        grammar, path = self._grammar.moved(self._path[-DRAFTED:])
        if grammar is not self._grammar:
            self._grammar, self._path, self._asked = grammar, path, None
