"""Special tokens as terminals of a grammar: tokens that are no text, by name and id.

Such a terminal is spelled by bytes that no text has: ESCAPE, a byte that UTF-8 never uses, and the token's id. So
automata, walks, distances and artefacts read it as they read any literal; only the vocabulary that is walked says which
token it is (`Vocabulary.with_special_tokens`). This module knows no dialect and no vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from grammar_cache.errors import UnsupportedFeature
from grammar_cache.expression import ANY_CHAR, Alt, Bytes, Expression

ESCAPE = 0xFF
"""First byte of a terminal that is a token."""
ID_BYTES = 4
"""Bytes of the id behind it."""
NEAR = 3
"""Names that the refusal of an unknown one shows."""


def special_terminal(token: int) -> Bytes:
    """The terminal that is this token. No text matches it, and none of them begins another."""
    return Bytes(bytes((ESCAPE,)) + token.to_bytes(ID_BYTES, "big"))


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """Names of the tokens that are no text, by id.

    `tags`: those that a template added without calling them special (`<tool_call>`); texts show them by name.
    `stop_ids`: those that end an answer. Without names no tokenizer is known, and every name is some token's: enough
    to read a grammar, and to judge texts, in which no such token occurs.
    """

    names: Mapping[int, str] | None
    tags: frozenset[int] = frozenset()
    stop_ids: frozenset[int] = frozenset()

    def __iter__(self) -> Iterator[int]:
        """Ids of the tokens that may be terminals, ascending."""
        return iter(sorted(set(self.names or ()) - self.stop_ids))

    def find(self, token: int | str, *, terminal: bool = True) -> int:
        """Id of a token, by its id or its name.

        Raises UnsupportedFeature for one that is none of these, and for a terminal that ends answers.
        """
        if self.names is None:
            return 0
        found = token if isinstance(token, int) else self._named(token)
        if found not in self.names:
            raise UnsupportedFeature(f"{token} is the id of no special token; text is written as text")
        if terminal and found in self.stop_ids:
            message = f"{self.names[found]} ends an answer: leave it out, an answer ends where its grammar does"
            raise UnsupportedFeature(message)
        return found

    def _named(self, name: str) -> int:
        names = self.names or {}
        found = next((token for token, own in names.items() if own == name), None)
        if found is None:
            near = get_close_matches(name, names.values(), NEAR, 0.5)
            told = f"; near it: {', '.join(near)}" if near else ""
            raise UnsupportedFeature(f"the tokenizer has no special token {name}{told}")
        return found

    def others(self, excluded: Iterable[int]) -> Expression:
        """A character, or a special token that isn't excluded: repeated, any text and any tokens but those."""
        left = set(self) - set(excluded)
        return Alt((ANY_CHAR, *(special_terminal(token) for token in sorted(left)))) if left else ANY_CHAR


UNKNOWN_TOKENIZER = SpecialTokens(None)
NO_TOKENS = SpecialTokens(MappingProxyType({}))
