"""A text followed through its language, by the tokens it has: never by how often somebody asked."""

from __future__ import annotations

from collections.abc import Collection

from grammar_cache.configurations.interner import DEAD
from server.decoding.language import Language


class LostTrack(ValueError):
    """The text holds a token that the language doesn't have there."""


class History:
    """History of a text: its tokens, and the configuration behind each. Only what is new is followed.

    A text may grow, shrink and change between two calls: an engine may take tokens back, compute them anew, or give
    the place of one request to another.
    """

    def __init__(self, ends: Collection[int]) -> None:
        """`ends`: tokens that end a text; what follows one of them is no part of it."""
        self._ends = ends
        self._language: Language | None = None
        self._tokens: list[int] = []
        self._configurations: list[int] = []
        self._stopped = False

    @property
    def configuration(self) -> int:
        """Configuration behind the tokens followed so far."""
        return self._configurations[-1]

    @property
    def stopped(self) -> bool:
        """Whether an end token is among them."""
        return self._stopped

    def follow(self, language: Language, tokens: list[int]) -> None:
        """Makes this the history of these tokens. Raises LostTrack, with what came before the token followed."""
        if language is not self._language:
            self._language, self._tokens, self._configurations = language, [], [language.start]
            self._stopped = False
        known = len(self._tokens)
        if tokens[:known] != self._tokens:
            known = next(
                (at for at, (ours, theirs) in enumerate(zip(self._tokens, tokens, strict=False)) if ours != theirs),
                min(known, len(tokens)),
            )
            del self._tokens[known:], self._configurations[known + 1 :]
            self._stopped = not set(self._tokens).isdisjoint(self._ends)
        for token in tokens[known:]:
            self._add(language, token)

    def _add(self, language: Language, token: int) -> None:
        after = self.configuration
        self._stopped |= token in self._ends
        if not self._stopped:
            if not 0 <= token < language.vocabulary.size:
                raise LostTrack(f"token {len(self._tokens)} of the answer, {token}, is none of the vocabulary")
            after = language.take(after, token)
            if after == DEAD:
                raise LostTrack(f"token {len(self._tokens)} of the answer, {token}, is not allowed there")
        self._tokens.append(token)
        self._configurations.append(after)
