"""LM Format Enforcer: characters through its parsers, tokens through its prefix tree. Masks are lists, its default."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from lmformatenforcer import (  # type: ignore[import-not-found, unused-ignore]
    JsonSchemaParser,
    RegexParser,
    TokenEnforcer,
    TokenEnforcerTokenizerData,
)
from numpy.typing import NDArray

if TYPE_CHECKING:
    from server.evaluation.peers.workers.main import Vocabulary

PACKAGE = "lm-format-enforcer"
PARSERS = {"json_schema": lambda text: JsonSchemaParser(json.loads(text)), "regex": RegexParser}
REPLACEMENT = "\ufffd"


class Engine:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        texts = [None if token is None else token.decode(errors="replace") for token in vocabulary.tokens]
        # A token may begin a word, and is then read by itself, only where it has whole characters.
        regular = [
            (number, text, text.startswith(" ") and REPLACEMENT not in text)
            for number, text in enumerate(texts)
            if text is not None
        ]
        size = len(vocabulary.tokens)
        self._data = TokenEnforcerTokenizerData(regular, self._decode, vocabulary.stops, False, size)

    def compile(self, form: str, text: str) -> Grammar:
        """Grammar of a text. The engine's parsers are cheap and are made for each text anew, as it is used; here they
        only say what they refuse.
        """
        if form not in PARSERS:
            raise ValueError(f"there is no form {form!r}")
        grammar = Grammar(self._data, form, text, self._vocabulary)
        grammar.start()
        return grammar

    def _decode(self, ids: list[int]) -> str:
        data = b"".join(self._vocabulary.tokens[number] or b"" for number in ids)
        return data.decode(errors="replace").rstrip(REPLACEMENT)


class Grammar:
    def __init__(self, data: Any, form: str, text: str, vocabulary: Vocabulary) -> None:
        self._data = data
        self._form = form
        self._text = text
        self._vocabulary = vocabulary

    def start(self) -> Session:
        return Session(TokenEnforcer(self._data, PARSERS[self._form](self._text)), self._vocabulary)


class Session:
    """The enforcer finds the state of a text by that of the text without its last token: it is asked for each."""

    def __init__(self, enforcer: Any, vocabulary: Vocabulary) -> None:
        self._enforcer = enforcer
        self._vocabulary = vocabulary
        self._tokens: list[int] = []

    def append(self, token: int) -> None:
        self._enforcer.get_allowed_tokens(self._tokens)  # remembered, where the mask was asked for
        self._tokens.append(token)

    def mask(self) -> NDArray[np.uint8]:
        return self._vocabulary.packed(self._enforcer.get_allowed_tokens(self._tokens).allowed_tokens)


def load(vocabulary: Vocabulary) -> Engine:
    return Engine(vocabulary)
