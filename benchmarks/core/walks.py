"""Texts to follow token by token, with the tokens that a decoder would look at on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Task
from grammar_cache import Vocabulary

CANDIDATES = 64


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """A reference answer in tokens; `candidates` int32[steps, k]: the answer's next token first, no token twice."""

    task: str
    schema: str
    tokens: tuple[int, ...]
    candidates: NDArray[np.int32]

    @property
    def steps(self) -> int:
        return len(self.tokens)


class Candidates:
    """Draws tokens in place of a model's best: half as frequent as in all answers, half any text.

    A model's best 64 are likely tokens and then anything: so are these, without a model.
    """

    def __init__(self, vocabulary: Vocabulary, answers: Iterable[Sequence[int]], seed: int) -> None:
        frequencies = Counter(chain.from_iterable(answers))
        self._likely = np.array(sorted(frequencies), np.int32)
        weights = np.array([frequencies[token] for token in self._likely.tolist()], np.float64)
        self._weights = weights / weights.sum()
        self._texts = np.sort(vocabulary.token_list)
        self._random = np.random.default_rng(seed)
        self.count = min(CANDIDATES, len(self._texts))

    def beside(self, token: int) -> list[int]:
        """`count` tokens, this one first."""
        likely = self._random.choice(
            self._likely, min(self.count // 2, len(self._likely)), replace=False, p=self._weights
        )
        any_text = self._random.choice(self._texts, self.count, replace=False, shuffle=False)
        distinct = dict.fromkeys([token, *likely.tolist(), *any_text.tolist()])
        return list(distinct)[: self.count]


def walks(
    tasks: Sequence[Task], answers: Sequence[Sequence[int]], vocabulary: Vocabulary, longest: int, seed: int
) -> list[Walk]:
    """One walk a task, cut at `longest` tokens."""
    drawn = Candidates(vocabulary, answers, seed)
    found = []
    for task, tokens in zip(tasks, answers, strict=True):
        kept = tuple(tokens[:longest])
        candidates = np.array([drawn.beside(token) for token in kept], np.int32).reshape(-1, drawn.count)
        found.append(Walk(task.name, task.schema, kept, candidates))
    return found
