"""LLGuidance, with its defaults. It compiles lazily: much of the work is done by the first masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import llguidance
import llguidance.numpy
import numpy as np
from llguidance.gbnf_to_lark import gbnf_to_lark
from numpy.typing import NDArray

if TYPE_CHECKING:
    from server.evaluation.peers.workers.main import Vocabulary

PACKAGE = "llguidance"


class Engine:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._size = len(vocabulary.tokens)
        text = (vocabulary.folder / "tokenizer.json").read_text(encoding="utf-8")
        self._tokenizer = llguidance.LLTokenizer(text, n_vocab=self._size, eos_token=vocabulary.stops)

    def compile(self, form: str, text: str) -> Grammar:
        """GBNF goes through the package's own translation to its Lark."""
        made = llguidance.LLMatcher
        match form:
            case "json_schema":
                grammar = made.grammar_from_json_schema(text)
            case "lark":
                grammar = made.grammar_from_lark(text)
            case "gbnf":
                grammar = made.grammar_from_lark(gbnf_to_lark(text))
            case "regex":
                grammar = made.grammar_from_regex(text)
            case _:
                raise ValueError(f"there is no form {form!r}")
        matcher = made(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return Grammar(matcher, self._size)


class Grammar:
    def __init__(self, matcher: Any, size: int) -> None:
        self._matcher = matcher
        self._size = size

    def start(self) -> Session:
        return Session(self._matcher.deep_copy(), self._size)


class Session:
    def __init__(self, matcher: Any, size: int) -> None:
        self._matcher = matcher
        self._bitmask: NDArray[np.int32] = llguidance.numpy.allocate_token_bitmask(1, size)

    def append(self, token: int) -> None:
        if not self._matcher.consume_token(token):
            raise ValueError(self._matcher.get_error() or f"token {token} is not taken")

    def mask(self) -> NDArray[np.uint8]:
        llguidance.numpy.fill_next_token_bitmask(self._matcher, self._bitmask)
        if self._matcher.is_error():
            raise ValueError(self._matcher.get_error())
        words: NDArray[np.int32] = self._bitmask[0]
        return words.view(np.uint8)


def load(vocabulary: Vocabulary) -> Engine:
    return Engine(vocabulary)
