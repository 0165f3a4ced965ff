"""A request's place while its model thinks, and then in its answer: thoughts are free, and leave the answer room.

Thoughts end where the model writes the closer. It has to as soon as the tokens left are those of the closer and of the
answer: its minimum, or a reserve where that is more, since an answer of as few tokens as can be says little. One
grammar of free text, closer and answer would know the minimum; it could not keep a reserve, and a closer of several
tokens of text would be any spelling of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from operator import index

import numpy as np
from numpy.typing import NDArray

from grammar_cache.errors import BudgetTooSmall
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.certificate import Certificate
from grammar_cache.hosts.cursor import Cursor
from grammar_cache.masks.mask import Mask
from grammar_cache.vocabulary.token_set import Bits, TokenBits, allowed, mask_bytes


class ThinkingCursor:
    """Place in thoughts or in the answer, as `Cursor` is one in an answer alone."""

    def __init__(
        self,
        grammar: CompiledGrammar,
        budget: int,
        closer: Sequence[int],
        *,
        reserve: int = 0,
        drafts: int = 0,
        excluded: Iterable[int] = (),
    ) -> None:
        """Begins thoughts and an answer of at most `budget` tokens together. Raises BudgetTooSmall.

        `reserve`: tokens that the answer gets at least, where the budget has them. `drafts`: tokens that may be drafted
        before masks are asked for. `excluded`: tokens that thoughts don't have, beside end tokens, such as the opener.
        Raises ValueError for no closer, or one with a token that thoughts can't have, and for a negative `drafts`.
        """
        vocabulary = grammar.vocabulary
        budget, self._closer = index(budget), tuple(map(index, closer))
        if drafts < 0:
            raise ValueError(f"tokens that may be drafted are 0 or more, not {drafts}")
        barred = {*vocabulary.stop_ids, *excluded}
        if not self._closer or not all(0 <= token < vocabulary.size and token not in barred for token in self._closer):
            raise ValueError("a closer has tokens of the vocabulary, none of which ends an answer or is excluded")
        with grammar.lock:
            minimum = grammar.minimum
        self._least = len(self._closer) + minimum.tokens
        if budget < self._least:
            raise BudgetTooSmall(budget, self._least, minimum.exact)
        self.budget = budget
        self._grammar = grammar
        self._need = min(max(minimum.tokens, reserve), budget - len(self._closer))
        self._drafts = drafts
        self._free = _all_but(barred, vocabulary.size)
        self._allowed = frozenset(range(vocabulary.size)) - barred
        self._fallback = _fallback(self._closer)
        self._thoughts: list[int] = []
        self._matched = [0]
        self._tight: list[bool] = []
        self._answer: Cursor | None = None

    @property
    def is_thinking(self) -> bool:
        """Whether the closer is still to come."""
        return self._answer is None

    @property
    def tokens(self) -> tuple[int, ...]:
        """Tokens that were accepted: thoughts, closer and answer."""
        return (*self._thoughts, *(self._answer.tokens if self._answer is not None else ()))

    @property
    def tokens_left(self) -> int:
        """Tokens that thoughts and answer may still have."""
        return self.budget - len(self.tokens)

    @property
    def is_ended(self) -> bool:
        """Whether an end token was accepted."""
        return self._answer is not None and self._answer.is_ended

    @property
    def is_accepting(self) -> bool:
        """Whether the answer is complete."""
        return self._answer is not None and self._answer.is_accepting

    @property
    def tight_places(self) -> tuple[int, ...]:
        """Places of accepted tokens that had to be the closer's, or before which the budget narrowed the answer."""
        answered = () if self._answer is None else self._answer.tight_places
        thoughts = (place for place, tight in enumerate(self._tight) if tight)
        return (*thoughts, *(len(self._thoughts) + place for place in answered))

    @property
    def is_tight(self) -> bool:
        """Whether the closer's next token has to come here, or the budget narrows the answer."""
        return self._is_forced if self._answer is None else self._answer.is_tight

    def bitmask(self) -> Bits:
        """Tokens that may come next, as `Cursor.bitmask` has them."""
        if self._answer is not None:
            return self._answer.bitmask()
        return allowed([self._next], len(self._free)) if self._is_forced else self._free

    def fill(self, row: NDArray[np.int32]) -> None:
        """Writes the mask to a row of a host's; see `Cursor.fill`."""
        if self._answer is not None:
            self._answer.fill(row)
            return
        bits = TokenBits.of(self.bitmask())
        Mask((bits,), 4 * bits.size).fill(row)

    def allows(self, token: int) -> bool:
        """Whether the mask allows a token."""
        if self._answer is not None:
            return self._answer.allows(token)
        return token == self._next if self._is_forced else token in self._allowed

    def accept(self, token: int) -> bool:
        """Goes on behind a token, if the mask allows it; else nothing happens, and the answer is False."""
        if self._answer is not None:
            return self._answer.accept(token)
        if not self.allows(token):
            return False
        self._tight.append(self._is_forced)
        matched = self._matched[-1]
        while matched and self._closer[matched] != token:
            matched = self._fallback[matched]
        matched += self._closer[matched] == token
        self._thoughts.append(token)
        self._matched.append(matched)
        if matched == len(self._closer):
            self._answer = Cursor(self._grammar, self.budget - len(self._thoughts))
        return True

    def rollback(self, count: int) -> None:
        """Takes the last `count` tokens back. Raises ValueError where there are fewer."""
        answered = 0 if self._answer is None else len(self._answer.tokens)
        if not 0 <= count <= answered + len(self._thoughts):
            raise ValueError(f"{count} tokens can't be taken back: there are {answered + len(self._thoughts)}")
        if self._answer is not None:
            self._answer.rollback(min(count, answered))
        if count > answered:
            kept = answered + len(self._thoughts) - count
            del self._thoughts[kept:], self._tight[kept:], self._matched[kept + 1 :]
            self._answer = None

    def fork(self) -> ThinkingCursor:
        """Another cursor at the same place, that goes its own way."""
        other = copy(self)
        other._thoughts, other._matched, other._tight = self._thoughts.copy(), self._matched.copy(), self._tight.copy()
        other._answer = None if self._answer is None else self._answer.fork()
        return other

    def certificate(self) -> Certificate:
        """Certificate of thoughts and answer together. Steps at which the closer had to come are tight."""
        cursor = self._answer or Cursor(self._grammar, self.budget - len(self._closer))
        found = cursor.certificate()
        return replace(
            found,
            complete=self.is_accepting,
            budget=self.budget,
            tokens_used=len(self.tokens),
            min_tokens=self._least,
            tight_steps=sum(self._tight) + found.tight_steps,
        )

    def completion(self) -> tuple[int, ...]:
        """Tokens that complete the answer, at most `tokens_left`."""
        if self._answer is not None:
            return self._answer.completion()
        rest = self._closer[self._matched[-1] :]
        return (*rest, *Cursor(self._grammar, self.tokens_left - len(rest)).completion())

    @property
    def _next(self) -> int:
        return self._closer[self._matched[-1]]

    @property
    def _is_forced(self) -> bool:
        """Whether another token than the closer's next one might leave too few for all of it and the answer."""
        return self.tokens_left - 1 - self._drafts < len(self._closer) + self._need


def _all_but(barred: Iterable[int], size: int) -> Bits:
    bits = np.zeros(mask_bytes(size), np.uint8)
    bits[:] = np.packbits(np.arange(8 * len(bits)) < size, bitorder="little")
    for token in barred:
        if 0 <= token < size:
            bits[token >> 3] &= ~np.uint8(1 << (token & 7))
    bits.flags.writeable = False
    return bits


def _fallback(closer: Sequence[int]) -> list[int]:
    """Longest beginning that each beginning of the closer ends with, itself left out (Knuth, Morris and Pratt 1977)."""
    found = [0] * (len(closer) + 1)
    for length in range(2, len(closer) + 1):
        matched = found[length - 1]
        while matched and closer[matched] != closer[length - 1]:
            matched = found[matched]
        found[length] = matched + (closer[matched] == closer[length - 1])
    return found
