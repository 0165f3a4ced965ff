"""The peer outlines-core, which makes a regular expression of a schema and an automaton over tokens of that."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.peer import Peer, Refused, Session, has
from grammar_cache import Vocabulary


class OutlinesCore(Peer):
    """Compiles eagerly: all states of the automaton, and all their tokens."""

    name = "outlines-core"
    package = "outlines-core"

    def __init__(self, vocabulary: Vocabulary) -> None:
        import outlines_core
        import outlines_core.json_schema

        self._library = outlines_core
        self._size = vocabulary.size
        self._stop = vocabulary.stop_ids[0]
        spelled: dict[bytes, list[int]] = {}
        for number, token in enumerate(vocabulary.token_bytes):
            if token and number != self._stop:
                spelled.setdefault(token, []).append(number)
        self._vocabulary = outlines_core.Vocabulary(self._stop, spelled)

    def compile(self, schema: str) -> Any:
        try:
            pattern = self._library.json_schema.build_regex_from_schema(schema)
            return self._library.Index(pattern, self._vocabulary)
        except (ValueError, TypeError) as error:
            raise Refused(str(error)) from error

    def session(self, compiled: Any) -> Session:
        return _OutlinesSession(self._library.Guide(compiled), self._size, self._stop)


class _OutlinesSession(Session):
    def __init__(self, guide: Any, size: int, stop: int) -> None:
        self._guide = guide
        self._stop = stop
        self._words: NDArray[np.int32] = np.zeros((size + 31) // 32, np.int32)

    def accept(self, token: int) -> bool:
        try:
            self._guide.advance(token, False)
        except ValueError:
            return False
        return True

    def fill(self) -> None:
        self._guide.write_mask_into(self._words.ctypes.data, self._words.size, 4)

    def allows(self, token: int) -> bool:
        return has(self._words, token)

    def accepts(self) -> bool:
        self.fill()
        return self.allows(self._stop)

    def reset(self) -> None:
        self._guide.reset()
