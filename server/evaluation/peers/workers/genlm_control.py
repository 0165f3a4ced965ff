"""genlm-control: a grammar is a potential over bytes, asked whether a prefix is one of the language.

It makes no masks: its samplers propose tokens and test them one by one. A mask here is a walk over the vocabulary's
bytes, which leaves out what follows a prefix that isn't one.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from genlm.control import BoolCFG, BoolFSA, JsonSchema  # type: ignore[import-not-found, unused-ignore]
from numpy.typing import NDArray

if TYPE_CHECKING:
    from server.evaluation.peers.workers.main import Vocabulary

PACKAGE = "genlm-control"
POTENTIALS = {
    "json_schema": lambda text: JsonSchema(json.loads(text)),
    "lark": BoolCFG.from_lark,
    "regex": BoolFSA.from_regex,
}


class Engine:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._tokens = Tokens(vocabulary)
        self._loop = asyncio.new_event_loop()

    def compile(self, form: str, text: str) -> Grammar:
        if form not in POTENTIALS:
            raise ValueError(f"there is no form {form!r}")
        return Grammar(POTENTIALS[form](text), self._loop, self._tokens)


class Tokens:
    """The vocabulary, and its texts in the order of their bytes."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.data = vocabulary.tokens
        self.ordered = sorted((data, number) for number, data in enumerate(vocabulary.tokens) if data is not None)


class Grammar:
    def __init__(self, potential: Any, loop: asyncio.AbstractEventLoop, tokens: Tokens) -> None:
        self._potential = potential
        self._loop = loop
        self._tokens = tokens

    def start(self) -> Session:
        return Session(self._potential, self._loop, self._tokens)


class Session:
    def __init__(self, potential: Any, loop: asyncio.AbstractEventLoop, tokens: Tokens) -> None:
        self._potential = potential
        self._loop = loop
        self._tokens = tokens
        self._alphabet = frozenset(potential.vocab)
        self._text: list[int] = []

    def append(self, token: int) -> None:
        self._text += self._tokens.data[token] or b""

    def allows(self, tokens: Sequence[int]) -> list[bool]:
        texts = (self._tokens.data[token] for token in tokens)
        return [text is not None and self._is_prefix(text) for text in texts]

    def may_end(self) -> bool:
        return self._holds(self._potential.complete(self._text))

    def mask(self) -> NDArray[np.uint8]:
        allowed = list(self._tokens.vocabulary.stops) if self.may_end() else []
        living, dead = b"", None
        for data, number in self._tokens.ordered:
            if dead is not None and data.startswith(dead):
                continue
            while not data.startswith(living):
                living = living[:-1]
            dead = None
            while dead is None and living != data:
                longer = data[: len(living) + 1]
                living, dead = (longer, None) if self._is_prefix(longer) else (living, longer)
            if dead is None:
                allowed.append(number)
        return self._tokens.vocabulary.packed(allowed)

    def _is_prefix(self, data: bytes) -> bool:
        """Potentials are defined over their own bytes only: of others they may say anything."""
        return self._alphabet.issuperset(data) and self._holds(self._potential.prefix([*self._text, *data]))

    def _holds(self, weight: Coroutine[Any, Any, float]) -> bool:
        """Whether a logarithmic weight is one of a text of the language."""
        return self._loop.run_until_complete(weight) > -math.inf


def load(vocabulary: Vocabulary) -> Engine:
    return Engine(vocabulary)
