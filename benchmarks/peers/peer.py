"""The face of a peer: it compiles a schema, and starts sessions that answer with masks. Knows no package."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray


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

    def compile_lark(self, grammar: str) -> Any:
        """Compiled grammar, for `session`. Raises Refused."""
        raise Refused(f"{self.name} reads no Lark")

    @abstractmethod
    def session(self, compiled: Any) -> Session:
        """Starts a text."""


def has(words: NDArray[np.int32], token: int) -> bool:
    """Whether a mask of one bit a token holds this one."""
    return bool((int(words[token >> 5]) >> (token & 31)) & 1)
