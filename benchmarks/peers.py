"""Peers, other constraint engines, behind one narrow face: a schema in, masks out.

Each peer runs on one thread with its own defaults and without a cache of grammars. A package that isn't installed
is no error: `find` gives None for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammar_cache import Vocabulary

NAMES = ("xgrammar", "xgrammar-open", "llguidance")
DEFAULT = ("xgrammar", "llguidance")


class Refused(ValueError):
    """A peer doesn't compile this schema."""


class Session(ABC):
    """One text under way in one grammar."""

    @abstractmethod
    def accept(self, token: int) -> bool:
        """Appends a token; whether the peer takes it."""

    @abstractmethod
    def fill(self) -> None:
        """Computes the mask of all tokens that may come next."""

    @abstractmethod
    def allows(self, token: int) -> bool:
        """Whether the mask computed last has the token."""

    @abstractmethod
    def accepts(self) -> bool:
        """Whether the text may end here."""

    @abstractmethod
    def reset(self) -> None:
        """Back to the empty text, keeping what the peer remembers of the grammar."""


class Peer(ABC):
    """Compiles schemas for one vocabulary."""

    name: str
    package: str

    @property
    def label(self) -> str:
        """The name with the package's version."""
        return f"{self.name} {version(self.package)}"

    @abstractmethod
    def compile(self, schema: str) -> Any:
        """Compiled schema, for `session`. Raises Refused."""

    def compile_gbnf(self, grammar: str) -> Any:
        """Compiled grammar, for `session`. Raises Refused."""
        raise Refused(f"{self.name} reads no GBNF")

    @abstractmethod
    def session(self, compiled: Any) -> Session:
        """Starts a text."""


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
        return self._matcher(self._library.LLMatcher.grammar_from_lark(translated))

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


def find(names: Sequence[str], vocabulary: Vocabulary, folder: Path) -> dict[str, Peer | None]:
    """The peers of these names for the vocabulary, whose tokenizer is in `folder`; None where one isn't installed."""
    return {name: _find(name, vocabulary, folder) for name in names}


def _find(name: str, vocabulary: Vocabulary, folder: Path) -> Peer | None:
    package = name.partition("-")[0]
    if find_spec(package) is None:
        return None
    match name:
        case "llguidance":
            return LLGuidance(vocabulary, folder)
        case "xgrammar" | "xgrammar-open":
            return XGrammar(vocabulary, open_objects=name == "xgrammar-open")
        case _:
            raise ValueError(f"there is no peer {name!r}: {', '.join(NAMES)}")


def has(words: NDArray[np.int32], token: int) -> bool:
    """Whether a mask of one bit a token holds this one."""
    return bool((int(words[token >> 5]) >> (token & 31)) & 1)
