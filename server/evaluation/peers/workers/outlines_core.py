"""outlines-core: a JSON Schema becomes a regular expression, and that an index of states by tokens, made in advance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from outlines_core import Guide, Index  # type: ignore[import-not-found, unused-ignore]
from outlines_core import Vocabulary as Tokens  # type: ignore[import-not-found, unused-ignore]
from outlines_core.json_schema import build_regex_from_schema  # type: ignore[import-not-found, unused-ignore]

if TYPE_CHECKING:
    from server.evaluation.peers.workers.main import Vocabulary

PACKAGE = "outlines_core"


class Engine:
    """Engine that knows one end token: the first."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        ids: dict[bytes, list[int]] = {}
        for number, token in enumerate(vocabulary.tokens):
            if token is not None:
                ids.setdefault(token, []).append(number)
        self._tokens = Tokens(vocabulary.stops[0], ids)
        self._words = (len(vocabulary.tokens) + 31) // 32

    def compile(self, form: str, text: str) -> Grammar:
        match form:
            case "json_schema":
                pattern = build_regex_from_schema(text)
            case "regex":
                pattern = text
            case _:
                raise ValueError(f"there is no form {form!r}")
        return Grammar(Index(pattern, self._tokens), self._words)


class Grammar:
    def __init__(self, index: Any, words: int) -> None:
        self._index = index
        self._words = words

    def start(self) -> Session:
        return Session(Guide(self._index), self._words)


class Session:
    def __init__(self, guide: Any, words: int) -> None:
        self._guide = guide
        self._mask = np.zeros(words, np.int32)

    def append(self, token: int) -> None:
        self._guide.advance(token, return_tokens=False)

    def mask(self) -> NDArray[np.uint8]:
        self._guide.write_mask_into(self._mask.ctypes.data, len(self._mask), self._mask.itemsize)
        return self._mask.view(np.uint8)


def load(vocabulary: Vocabulary) -> Engine:
    return Engine(vocabulary)
