"""The peer llguidance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.peer import Peer, Refused, Session, has
from grammar_cache import Vocabulary


class LLGuidance(Peer):
    """Compiles lazily: most of the work is done by the first masks."""

    name = "llguidance"
    package = "llguidance"

    def __init__(self, vocabulary: Vocabulary, folder: Path) -> None:
        import llguidance
        import llguidance.numpy

        self._library = llguidance
        self._size = vocabulary.size
        text = (folder / "tokenizer.json").read_text(encoding="utf-8")
        self._tokenizer = llguidance.LLTokenizer(text, n_vocab=vocabulary.size, eos_token=vocabulary.stop_ids[0])

    def compile(self, schema: str) -> Any:
        return self._matcher(self._library.LLMatcher.grammar_from_json_schema(schema))

    def compile_gbnf(self, grammar: str) -> Any:
        """Compiles by the package's own translation to its Lark."""
        from llguidance.gbnf_to_lark import GbnfToLarkError, gbnf_to_lark

        try:
            translated = gbnf_to_lark(grammar)
        except GbnfToLarkError as error:
            raise Refused(str(error)) from error
        return self.compile_lark(translated)

    def compile_lark(self, grammar: str) -> Any:
        return self._matcher(self._library.LLMatcher.grammar_from_lark(grammar))

    def _matcher(self, grammar: str) -> Any:
        matcher = self._library.LLMatcher(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise Refused(matcher.get_error())
        return matcher

    def session(self, compiled: Any) -> Session:
        return _LLGuidanceSession(compiled.deep_copy(), self._library.numpy, self._size)


class _LLGuidanceSession(Session):
    def __init__(self, matcher: Any, library: Any, size: int) -> None:
        self._matcher = matcher
        self._library = library
        self._bitmask: NDArray[np.int32] = library.allocate_token_bitmask(1, size)

    def accept(self, token: int) -> bool:
        return bool(self._matcher.consume_token(token))

    def fill(self) -> None:
        self._library.fill_next_token_bitmask(self._matcher, self._bitmask)

    def allows(self, token: int) -> bool:
        return has(self._bitmask[0], token)

    def accepts(self) -> bool:
        return bool(self._matcher.is_accepting())

    def reset(self) -> None:
        self._matcher.reset()
