"""Literal texts in which special tokens may stand for their names."""

from __future__ import annotations

import re

from grammar_cache.dialects.combine import sequence
from grammar_cache.expression import Alt, Expression, text
from grammar_cache.special_tokens import SpecialTokens, special_terminal


class NamedLiterals:
    """NamedLiterals over the special tokens of a vocabulary."""

    def __init__(self, tokens: SpecialTokens) -> None:
        self._tokens = tokens
        self._by_name = {name: token for token, name in (tokens.names or {}).items() if name}
        names = sorted(self._by_name, key=len, reverse=True)  # where several begin, the longest
        self._names = re.compile("|".join(map(re.escape, names))) if names else None

    def read(self, literal: str) -> Expression:
        """The text, each name in it by its token or its characters.

        Tokenizers, too, look for names first, and for the longest one. Raises UnsupportedFeature for the name of one
        that ends answers.
        """
        if self._names is None:
            return text(literal)
        parts: list[Expression] = []
        at = 0
        for found in self._names.finditer(literal):
            token = self._by_name[found[0]]
            self._tokens.find(token)
            parts.append(text(literal[at : found.start()]))
            parts.append(Alt((special_terminal(token), text(found[0]))))
            at = found.end()
        return sequence((*parts, text(literal[at:])))

    def shown(self, triggers: tuple[str, ...]) -> dict[int, str]:
        """Tokens that free text may hold: tags of templates, and those that occur in its triggers."""
        names = self._tokens.names or {}
        own = {token for token in self._tokens if token in self._tokens.tags}
        own |= {token for token in self._tokens if names[token] and any(names[token] in one for one in triggers)}
        return {token: names[token] for token in sorted(own)}

    def token(self, token: int | str) -> int:
        """Id of a special token that is a literal. Raises UnsupportedFeature."""
        return self._tokens.find(token)
