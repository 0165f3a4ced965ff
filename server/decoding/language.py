"""Contract of a language for decoding. A compiled grammar is one; so is the language of all texts, for plain
requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configurations.interner import DEAD
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.parameters import Ending, Parameters


class Language(Protocol):
    """See `grammar_cache.grammar.CompiledGrammar`, which says what each of these means."""

    vocabulary: Vocabulary
    start: int

    def moved(self, configurations: Sequence[int]) -> tuple[Language, list[int]]: ...

    def consume_batch(self, configurations: NDArray[np.int32], tokens: NDArray[np.int32]) -> NDArray[np.int32]: ...

    def take(self, configuration: int, token: int) -> int: ...

    def distances(self, configurations: NDArray[np.int32], tokens: int) -> NDArray[np.int32]: ...

    def distances_behind(self, configuration: int, after: NDArray[np.int32], tokens: int) -> NDArray[np.int32]: ...

    def first_viable(self, configuration: int, ranking: NDArray[np.int32], tokens: int) -> int | None: ...

    def accepts(self, configuration: int) -> bool: ...

    def ends(self, configuration: int) -> bool: ...

    def mask(self, configuration: int, budget: int | None = None) -> NDArray[np.bool_]: ...

    def only_token(self, configuration: int, budget: int) -> int | None: ...

    def proposals(self, configuration: int) -> NDArray[np.int32]: ...

    def witness(self, configuration: int, budget: int | None = None) -> tuple[int, ...]: ...


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
    """All texts over a vocabulary: every one is complete, every token may follow. One configuration, 0.

    Tokens that have no bytes and are no end tokens may follow if they are `stop_ids`.
    """

    def __init__(self, vocabulary: Vocabulary, stop_ids: Sequence[int] = ()) -> None:
        self.vocabulary = vocabulary
        self.start = 0
        self._follows = vocabulary.string_of >= 0
        self._follows[[token for token in stop_ids if token not in vocabulary.stop_ids]] = True
        self._mask = self._follows.copy()
        self._mask[list(vocabulary.stop_ids)] = True
        self._mask.flags.writeable = False

    def moved(self, configurations: Sequence[int]) -> tuple[AnyText, list[int]]:
        return self, list(configurations)

    def consume_batch(self, configurations: NDArray[np.int32], tokens: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where(self._follows[tokens], 0, DEAD).astype(np.int32)

    def take(self, configuration: int, token: int) -> int:
        return 0 if self._follows[token] else DEAD

    def distances(self, configurations: NDArray[np.int32], tokens: int) -> NDArray[np.int32]:
        return np.where(configurations == DEAD, np.iinfo(np.int32).max, 0).astype(np.int32)

    def distances_behind(self, configuration: int, after: NDArray[np.int32], tokens: int) -> NDArray[np.int32]:
        return self.distances(after, tokens)

    def first_viable(self, configuration: int, ranking: NDArray[np.int32], tokens: int) -> int | None:
        return next((token for token in ranking.tolist() if self._follows[token]), None)

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

    def witness(self, configuration: int, budget: int | None = None) -> tuple[int, ...]:
        return ()


class WithoutEnd:
    """A language in which texts go on: tokens that end them are not viable. It may have no viable token at all."""

    def __init__(self, language: Language, ends: Sequence[int]) -> None:
        self.vocabulary = language.vocabulary
        self.start = language.start
        self._language = language
        self._ends = np.array(ends, np.int32)

    def consume_batch(self, configurations: NDArray[np.int32], tokens: NDArray[np.int32]) -> NDArray[np.int32]:
        after = self._language.consume_batch(configurations, tokens)
        return np.where(np.isin(tokens, self._ends), np.int32(DEAD), after)

    def moved(self, configurations: Sequence[int]) -> tuple[WithoutEnd, list[int]]:
        language, places = self._language.moved(configurations)
        return WithoutEnd(language, self._ends.tolist()), places

    def take(self, configuration: int, token: int) -> int:
        return self._language.take(configuration, token)

    def distances(self, configurations: NDArray[np.int32], tokens: int) -> NDArray[np.int32]:
        return self._language.distances(configurations, tokens)

    def distances_behind(self, configuration: int, after: NDArray[np.int32], tokens: int) -> NDArray[np.int32]:
        return self._language.distances_behind(configuration, after, tokens)

    def first_viable(self, configuration: int, ranking: NDArray[np.int32], tokens: int) -> int | None:
        return self._language.first_viable(configuration, ranking[~np.isin(ranking, self._ends)], tokens)

    def accepts(self, configuration: int) -> bool:
        return False

    def ends(self, configuration: int) -> bool:
        return self._language.ends(configuration)

    def mask(self, configuration: int, budget: int | None = None) -> NDArray[np.bool_]:
        found = self._language.mask(configuration, budget).copy()
        found[self._ends] = False
        return found

    def only_token(self, configuration: int, budget: int) -> int | None:
        return self._language.only_token(configuration, budget)

    def proposals(self, configuration: int) -> NDArray[np.int32]:
        return self._language.proposals(configuration)

    def witness(self, configuration: int, budget: int | None = None) -> tuple[int, ...]:
        return self._language.witness(configuration, budget)


def going_on(language: Language, parameters: Parameters, tokens_left: int) -> Language | None:
    """The language without what may not end a text yet; None where everything may."""
    ends = language.vocabulary.stop_ids
    if parameters.budget - tokens_left < parameters.min_tokens:
        return WithoutEnd(language, (*ends, *parameters.stop_ids))
    return WithoutEnd(language, ends) if parameters.ignore_end else None
