"""Contract of a language for decoding. A compiled grammar is one; so is the language of all texts, for plain
requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configurations.interner import DEAD
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.parameters import Ending


class Language(Protocol):
    """See `grammar_cache.grammar.CompiledGrammar`, which says what each of these means."""

    vocabulary: Vocabulary
    start: int

    def consume_batch(self, configurations: NDArray[np.int32], tokens: NDArray[np.int32]) -> NDArray[np.int32]: ...

    def take(self, configuration: int, token: int) -> int: ...

    def distances(self, configurations: NDArray[np.int32], tokens: int) -> NDArray[np.int32]: ...

    def first_viable(self, configuration: int, ranking: NDArray[np.int32], tokens: int) -> int | None: ...

    def accepts(self, configuration: int) -> bool: ...

    def ends(self, configuration: int) -> bool: ...

    def mask(self, configuration: int, budget: int | None = None) -> NDArray[np.bool_]: ...

    def only_token(self, configuration: int, budget: int) -> int | None: ...

    def proposals(self, configuration: int) -> NDArray[np.int32]: ...

    def witness(self, configuration: int) -> tuple[int, ...]: ...


ENDINGS: Mapping[Ending, Callable[[Language, int], bool]] = MappingProxyType(
    {
        "candidate": lambda language, configuration: language.ends(configuration),
        "freeze": lambda language, configuration: language.accepts(configuration),
    }
)
"""Whether a beam at this configuration is over.

    candidate   where the text is complete and nothing may follow. Where something may, the end token is a candidate
    freeze      at its first complete text, as Algorithm 1 is printed: what could follow is never looked at

Frozen, an answer is the shortest complete prefix of what it might have become: `SELECT a FROM t` has no `WHERE`, and a
language that holds the empty text has no other. It takes a language that is worth it, such as JSON values in brackets.
"""


class AnyText:
    """All texts over a vocabulary: every one is complete, every token may follow. One configuration, 0."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.start = 0
        self._mask = vocabulary.string_of >= 0
        self._mask[list(vocabulary.stop_ids)] = True
        self._mask.flags.writeable = False

    def consume_batch(self, configurations: NDArray[np.int32], tokens: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where(self.vocabulary.string_of[tokens] >= 0, 0, DEAD).astype(np.int32)

    def take(self, configuration: int, token: int) -> int:
        return 0 if self.vocabulary.string_of[token] >= 0 else DEAD

    def distances(self, configurations: NDArray[np.int32], tokens: int) -> NDArray[np.int32]:
        return np.where(configurations == DEAD, np.iinfo(np.int32).max, 0).astype(np.int32)

    def first_viable(self, configuration: int, ranking: NDArray[np.int32], tokens: int) -> int | None:
        return next((token for token in ranking.tolist() if self.vocabulary.string_of[token] >= 0), None)

    def accepts(self, configuration: int) -> bool:
        return True

    def ends(self, configuration: int) -> bool:
        return False

    def mask(self, configuration: int, budget: int | None = None) -> NDArray[np.bool_]:
        return self._mask

    def only_token(self, configuration: int, budget: int) -> int | None:
        return None

    def proposals(self, configuration: int) -> NDArray[np.int32]:
        return np.empty(0, np.int32)

    def witness(self, configuration: int) -> tuple[int, ...]:
        return ()
