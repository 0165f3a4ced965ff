"""Jumping forward over text, not only over tokens, that have no alternative.

Where `"name":` must follow, many tokens can begin it, so the model would be asked; but whatever it says, the text is
the same. Here that text counts as tokens without an alternative, cut as the tokenizer itself would cut it; what is left
behind each token is cut anew. The last one is left open: the model may have a longer token there, which goes on behind
the forced text.

It is a choice, not a theorem: the model might have cut the text otherwise, and then written something else behind it.
So it suits beams and greedy answers; drawn texts don't follow the model's distribution any more. The tokens jumped over
count 0 in every score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.grammar import CompiledGrammar
from grammar_cache.vocabulary.vocabulary import Vocabulary

Split: TypeAlias = Callable[[str], Sequence[int]]
"""Function from a text to its tokens, without marks of begin and end."""

LONGEST = 256
"""Bytes of forced text that are looked at together."""


class ForcedText:
    """A compiled grammar, with more tokens that have no alternative."""

    def __init__(self, grammar: CompiledGrammar, split: Split) -> None:
        self.vocabulary: Vocabulary = grammar.vocabulary
        self.start = grammar.start
        self.grammar = grammar
        self._split = split
        self._bytes = [(bytes(alike[:1]), len(alike) == 1) for alike in grammar.network.alike]
        self._only: dict[int, bytes] = {}
        self._tokens: dict[bytes, tuple[int, ...]] = {}

    def only_token(self, configuration: int, budget: int) -> int | None:
        """The one token that may come next, or the next one of the forced text, unless that is its last."""
        token = self.grammar.only_token(configuration, budget)
        if token is not None:
            return token
        tokens = self._cut(self.forced(configuration))
        if len(tokens) < 2:
            return None
        return self.grammar.first_viable(configuration, np.array(tokens[:1], np.int32), budget - 1)

    def forced(self, configuration: int) -> bytes:
        """The text that every way to go on begins with, up to `LONGEST` bytes."""
        text = b""
        after: int | None = configuration
        while after is not None and len(text) < LONGEST:
            byte = self._only_byte(after)
            if not byte:
                break
            text += byte
            after = self.grammar.consume_bytes(after, byte)
        return text

    def _only_byte(self, configuration: int) -> bytes:
        """The one byte that may follow; nothing if there are several, or if the text may end here."""
        known = self._only.get(configuration)
        if known is None:
            known = self._only[configuration] = self._found_byte(configuration)
        return known

    def _found_byte(self, configuration: int) -> bytes:
        found = b""
        if self.accepts(configuration):
            return found
        for byte, alone in self._bytes:
            if self.grammar.consume_bytes(configuration, byte) is not None:
                if found or not alone:
                    return b""
                found = byte
        return found

    def _cut(self, text: bytes) -> tuple[int, ...]:
        """Tokens as the tokenizer cuts the text; nothing where its tokens don't spell it, as with half a code point."""
        known = self._tokens.get(text)
        if known is None:
            known = tuple(self._split(text.decode(errors="replace"))) if len(text) > 1 else ()
            if self.vocabulary.text(known) != text:
                known = ()
            self._tokens[text] = known
        return known

    def moved(self, configurations: Sequence[int]) -> tuple[ForcedText, list[int]]:
        grammar, places = self.grammar.moved(configurations)
        return (self if grammar is self.grammar else ForcedText(grammar, self._split)), places

    def consume_batch(self, configurations: NDArray[np.int32], tokens: NDArray[np.int32]) -> NDArray[np.int32]:
        return self.grammar.consume_batch(configurations, tokens)

    def take(self, configuration: int, token: int) -> int:
        return self.grammar.take(configuration, token)

    def distances(self, configurations: NDArray[np.int32], tokens: int) -> NDArray[np.int32]:
        return self.grammar.distances(configurations, tokens)

    def distances_behind(self, configuration: int, after: NDArray[np.int32], tokens: int) -> NDArray[np.int32]:
        return self.grammar.distances_behind(configuration, after, tokens)

    def first_viable(self, configuration: int, ranking: NDArray[np.int32], tokens: int) -> int | None:
        return self.grammar.first_viable(configuration, ranking, tokens)

    def accepts(self, configuration: int) -> bool:
        return self.grammar.accepts(configuration)

    def ends(self, configuration: int) -> bool:
        return self.grammar.ends(configuration)

    def mask(self, configuration: int, budget: int | None = None) -> NDArray[np.bool_]:
        return self.grammar.mask(configuration, budget)

    def proposals(self, configuration: int) -> NDArray[np.int32]:
        return self.grammar.proposals(configuration)

    def witness(self, configuration: int, budget: int | None = None) -> tuple[int, ...]:
        return self.grammar.witness(configuration, budget)
