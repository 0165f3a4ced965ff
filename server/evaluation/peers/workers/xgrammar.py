"""XGrammar, with its defaults: closed objects where a schema doesn't say, and any white space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xgrammar
from numpy.typing import NDArray

if TYPE_CHECKING:
    from server.evaluation.peers.workers.main import Vocabulary

PACKAGE = "xgrammar"


class Engine:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._size = len(vocabulary.tokens)
        tokenizer = xgrammar.TokenizerInfo(
            [token or b"" for token in vocabulary.tokens],
            vocab_type=xgrammar.VocabType.RAW,
            vocab_size=self._size,
            stop_token_ids=vocabulary.stops,
        )
        self._compiler = xgrammar.GrammarCompiler(tokenizer, max_threads=1, cache_enabled=False)

    def compile(self, form: str, text: str) -> Grammar:
        match form:
            case "json_schema":
                compiled = self._compiler.compile_json_schema(text)
            case "gbnf":
                compiled = self._compiler.compile_grammar(text)
            case "lark":
                compiled = self._compiler.compile_lark(text)
            case "regex":
                compiled = self._compiler.compile_regex(text)
            case "structural_tag":
                compiled = self._compiler.compile_structural_tag(text)
            case _:
                raise ValueError(f"there is no form {form!r}")
        return Grammar(compiled, self._size)


class Grammar:
    def __init__(self, compiled: Any, size: int) -> None:
        self._compiled = compiled
        self._size = size

    def start(self) -> Session:
        return Session(xgrammar.GrammarMatcher(self._compiled), xgrammar.allocate_token_bitmask(1, self._size))


class Session:
    def __init__(self, matcher: Any, bitmask: Any) -> None:
        self._matcher = matcher
        self._bitmask = bitmask

    def append(self, token: int) -> None:
        if not self._matcher.accept_token(token):
            raise ValueError(f"token {token} is not taken")

    def mask(self) -> NDArray[np.uint8]:
        self._matcher.fill_next_token_bitmask(self._bitmask)
        words: NDArray[np.int32] = self._bitmask.numpy()[0]
        return words.view(np.uint8)


def load(vocabulary: Vocabulary) -> Engine:
    return Engine(vocabulary)
