"""A constraint engine in a process of its own: lines of JSON in, lines of JSON out.

Run by its path, with the file of one engine: `python -I main.py xgrammar.py`. It runs in environments that have none
of our packages, so it imports only numpy; the engine's file adds the engine. A request names its `op`:

    load    vocabulary (a file), tokenizer (a folder), memory (bytes, or 0)    version, ms
    open    form, text                                                         session, ms
    mask    session, tokens                                                    mask (bits in base64), ms
    test    session, tokens, candidates                                        allowed (one each), ms
    end     session, tokens                                                    end, ms
    close   session

`tokens` are all of the text so far. `ms` is the time inside the engine alone. What an engine raises is a reply, too:
`error`, with what it said.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import resource
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import count, pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

KEPT = 8
"""Compiled grammars kept for the next text in them, the oldest given up first."""
LONGEST_ERROR = 600
"""Characters of an engine's error that are passed on: some quote the whole grammar."""

T = TypeVar("T")


@dataclass(frozen=True)
class Vocabulary:
    """`tokens` by id; None is no text. `stops` end a text. `folder` holds tokenizer.json."""

    tokens: list[bytes | None]
    stops: list[int]
    folder: Path

    @staticmethod
    def read(file: str, folder: str) -> Vocabulary:
        with np.load(file) as arrays:
            data = arrays["data"].tobytes()
            offsets, stops = arrays["data_offsets"].tolist(), arrays["stop_ids"].tolist()
        tokens = [data[start:end] or None for start, end in pairwise(offsets)]
        return Vocabulary(tokens, stops, Path(folder))

    def packed(self, allowed: NDArray[np.integer[Any]] | list[int]) -> NDArray[np.uint8]:
        """Token ids as a mask."""
        mask = np.zeros(len(self.tokens), np.bool_)
        mask[allowed] = True
        return np.packbits(mask, bitorder="little")


class Session(Protocol):
    """One text under way."""

    def append(self, token: int) -> None:
        """Raises ValueError if the engine doesn't take it."""

    def mask(self) -> NDArray[np.uint8]:
        """A bit for each token that may follow, the lowest first; an end token's where the text may end."""


@runtime_checkable
class TestingSession(Session, Protocol):
    """Session of an engine that makes no masks but tests tokens one by one; its masks are slow."""

    def allows(self, tokens: Sequence[int]) -> list[bool]: ...

    def may_end(self) -> bool: ...


class Grammar(Protocol):
    """A compiled grammar."""

    def start(self) -> Session: ...


class Engine(Protocol):
    """Engine that the `load(vocabulary)` of its file gives. The file names its distribution in `PACKAGE`."""

    def compile(self, form: str, text: str) -> Grammar:
        """Raises whatever the engine raises for what it doesn't support."""


class Text:
    """A session and the tokens that it has; one that has others than are asked for is begun again."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._session = grammar.start()
        self._tokens: list[int] = []

    def at(self, tokens: list[int]) -> Session:
        """The session after these tokens. Raises ValueError if one of them isn't taken."""
        known = len(self._tokens)
        if tokens[:known] != self._tokens:
            self._session, self._tokens, known = self._grammar.start(), [], 0
        for token in tokens[known:]:
            self._session.append(token)
            self._tokens.append(token)
        return self._session


class Worker:
    """Answers requests, one after the other."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._engine: Engine | None = None
        # An LRU by hand: our packages, and `LruCache` with them, aren't where this runs.
        self._grammars: OrderedDict[tuple[str, str], tuple[Grammar, float]] = OrderedDict()
        self._texts: dict[int, Text] = {}
        self._numbers = count(1)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        match request["op"]:
            case "load":
                return self._load(request)
            case "open":
                return self._open(request["form"], request["text"])
            case "mask":
                text = self._texts[request["session"]]
                mask, ms = timed(lambda: text.at(request["tokens"]).mask())
                return {"mask": base64.b64encode(mask.tobytes()).decode(), "ms": ms}
            case "test":
                text = self._texts[request["session"]]
                allowed, ms = timed(lambda: testing(text.at(request["tokens"])).allows(request["candidates"]))
                return {"allowed": allowed, "ms": ms}
            case "end":
                text = self._texts[request["session"]]
                end, ms = timed(lambda: testing(text.at(request["tokens"])).may_end())
                return {"end": end, "ms": ms}
            case "close":
                self._texts.pop(request["session"], None)
                return {}
            case other:
                raise ValueError(f"there is no request {other!r}")

    def _load(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["memory"] and sys.platform == "linux":  # elsewhere the limit either isn't kept or can't be set
            resource.setrlimit(resource.RLIMIT_DATA, (request["memory"], request["memory"]))
        vocabulary = Vocabulary.read(request["vocabulary"], request["tokenizer"])
        spec = importlib.util.spec_from_file_location(f"peer_{self._file.stem}", self._file)
        assert spec is not None, "a Python file has a loader"
        assert spec.loader is not None, "a Python file has a loader"
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self._engine, ms = timed(lambda: module.load(vocabulary))
        return {"version": version(module.PACKAGE), "ms": ms}

    def _open(self, form: str, text: str) -> dict[str, Any]:
        engine, key = self._engine, (form, text)
        assert engine is not None, "an engine is loaded before it is asked"
        if key not in self._grammars:
            self._grammars[key] = timed(lambda: engine.compile(form, text))
        self._grammars.move_to_end(key)
        if len(self._grammars) > KEPT:
            self._grammars.popitem(last=False)
        grammar, ms = self._grammars[key]
        number = next(self._numbers)
        self._texts[number] = Text(grammar)
        return {"session": number, "ms": ms}


def testing(session: Session) -> TestingSession:
    """Session as a `TestingSession`. Raises ValueError for a session that isn't one."""
    if not isinstance(session, TestingSession):
        raise ValueError("this engine makes masks, and tests nothing")
    return session


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """A result and the milliseconds that it took."""
    begun = perf_counter()
    result = work()
    return result, (perf_counter() - begun) * 1e3


def main(file: str) -> None:
    # Engines print; only replies may go where replies are read.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = Worker(Path(file))
    for line in sys.stdin:
        try:
            reply = worker.answer(json.loads(line))
        except Exception as error:  # engines raise what they like, and whatever it is belongs to this request alone
            reply = {"error": f"{type(error).__name__}: {error}"[:LONGEST_ERROR]}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
