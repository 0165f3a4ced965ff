"""A constraint engine for tests of the peers' processes: its grammars are lists of words, and some misbehave.

Run by path in a process of its own, like the engines it stands for.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

PACKAGE = "numpy"


class Engine:
    def __init__(self, vocabulary: Any) -> None:
        self.vocabulary = vocabulary
        self.asked = 0

    def compile(self, form: str, text: str) -> Grammar:
        """A regular expression is words between bars; the first may ask for trouble."""
        print("engines print", flush=True)
        self.asked += 1
        match text.partition("|")[0]:
            case "refuse":
                raise NotImplementedError(f"can't be done, asked {self.asked} times")
            case "die while compiling":
                print("last words", file=sys.stderr, flush=True)
                os._exit(3)
            case "hang while compiling":
                time.sleep(60)
        return Grammar(self.vocabulary, text.split("|"))


class Grammar:
    def __init__(self, vocabulary: Any, words: list[str]) -> None:
        self.vocabulary = vocabulary
        self.words = [word.encode() for word in words]

    def start(self) -> Session:
        return Session(self)


class Session:
    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.text = b""

    def append(self, token: int) -> None:
        if not self.allows([token])[0]:
            raise ValueError(f"{token} is not taken")
        self.text += self.grammar.vocabulary.tokens[token]

    def mask(self) -> NDArray[np.uint8]:
        if self.text == b"x":
            os._exit(4)
        tokens = range(len(self.grammar.vocabulary.tokens))
        allowed = [token for token, taken in zip(tokens, self.allows(tokens), strict=True) if taken]
        packed: NDArray[np.uint8] = self.grammar.vocabulary.packed(
            allowed + (self.grammar.vocabulary.stops if self.may_end() else [])
        )
        return packed

    def allows(self, tokens: Sequence[int]) -> list[bool]:
        texts = [self.grammar.vocabulary.tokens[token] for token in tokens]
        return [text is not None and self.goes_on(self.text + text) for text in texts]

    def may_end(self) -> bool:
        return self.text in self.grammar.words

    def goes_on(self, text: bytes) -> bool:
        return any(word.startswith(text) for word in self.grammar.words)


def load(vocabulary: Any) -> Engine:
    if vocabulary.folder.name == "broken":
        raise ImportError("no such engine")
    return Engine(vocabulary)
