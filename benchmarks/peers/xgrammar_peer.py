"""The peer xgrammar."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.peer import Peer, Refused, Session, has
from grammar_cache import Vocabulary


class XGrammar(Peer):
    """Peer that by default closes objects where a schema doesn't say; `open_objects`: they are open, as in the
    standard.
    """

    package = "xgrammar"

    def __init__(self, vocabulary: Vocabulary, *, open_objects: bool) -> None:
        import xgrammar

        self.name = "xgrammar-open" if open_objects else "xgrammar"
        self._library = xgrammar
        self._size = vocabulary.size
        self._stop = vocabulary.stop_ids[0]
        self._open = open_objects
        info = xgrammar.TokenizerInfo(
            [token or b"" for token in vocabulary.token_bytes],
            vocab_type=xgrammar.VocabType.RAW,
            vocab_size=vocabulary.size,
            stop_token_ids=list(vocabulary.stop_ids),
        )
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)

    def compile(self, schema: str) -> Any:
        try:
            return self._compiler.compile_json_schema(schema, strict_mode=not self._open)
        except RuntimeError as error:
            raise Refused(str(error)) from error

    def compile_gbnf(self, grammar: str) -> Any:
        try:
            return self._compiler.compile_grammar(grammar)
        except RuntimeError as error:
            raise Refused(str(error)) from error

    def session(self, compiled: Any) -> Session:
        library = self._library
        bitmask = library.allocate_token_bitmask(1, self._size)
        return _XGrammarSession(library.GrammarMatcher(compiled), bitmask, self._stop)


class _XGrammarSession(Session):
    def __init__(self, matcher: Any, bitmask: Any, stop: int) -> None:
        self._matcher = matcher
        self._bitmask = bitmask
        self._stop = stop
        self._words: NDArray[np.int32] = bitmask.numpy()[0]

    def accept(self, token: int) -> bool:
        return bool(self._matcher.accept_token(token))

    def fill(self) -> None:
        self._matcher.fill_next_token_bitmask(self._bitmask)

    def allows(self, token: int) -> bool:
        return has(self._words, token)

    def accepts(self) -> bool:
        if self._matcher.is_terminated():
            return True
        self.fill()
        return self.allows(self._stop)

    def reset(self) -> None:
        self._matcher.reset()
