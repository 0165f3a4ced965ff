"""The beams of one answer, each a text that the engine keeps between steps.

The first child of a beam goes on with its text. Every further one begins a text of its own, which takes over what it
shares with its parent; texts without children are closed at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

LogProbabilities: TypeAlias = Mapping[int, float]
"""Of tokens, by id."""


class Session(Protocol):
    """One text under way."""

    most: int
    """How many log-probabilities a step yields at most."""

    def extend(self, tokens: Sequence[int]) -> None:
        """Adds tokens, at least one. Returns at once; `after` is to be asked before anything is added again."""

    async def after(self) -> LogProbabilities:
        """What may follow all that was added. Raises EngineError."""

    async def close(self) -> None:
        """Frees the text, whatever state it is in."""


S = TypeVar("S", bound=Session)


class Opener(Protocol[S]):
    async def __call__(self, tokens: Sequence[int], most: int, parent: S | None) -> S:
        """A session over a text: prompt and answer so far, at least one token. Raises EngineError.

        `parent`: an open session of the same answer, whose text so far this one begins with.
        """


@dataclass(frozen=True, slots=True)
class Branch:
    """How a row goes on: from row `parent` of the step before by `tokens`, to be told of `most` successors."""

    parent: int
    tokens: tuple[int, ...]
    most: int


@dataclass(frozen=True, slots=True)
class _Row(Generic[S]):
    text: tuple[int, ...]
    session: S | None


class Tree(Generic[S]):
    """Begins with one row, the prompt. `close` it, whatever happens."""

    def __init__(self, opener: Opener[S], prompt: tuple[int, ...]) -> None:
        self._opener = opener
        self._rows: list[_Row[S]] = [_Row(prompt, None)]
        self._sessions: list[S] = []

    async def extend(self, branches: Sequence[Branch]) -> list[LogProbabilities]:
        """One step: what may follow each row. Raises EngineError."""
        going_on: list[tuple[S, tuple[int, ...]]] = []
        rows: list[_Row[S]] = []
        free = {row.session for row in self._rows}
        for branch in branches:
            parent = self._rows[branch.parent]
            text = parent.text + branch.tokens
            session = parent.session
            if session is not None and session in free and session.most >= branch.most:
                free.discard(session)
                going_on.append((session, branch.tokens))
            else:
                session = await self._open(text, branch.most, parent.session)
            rows.append(_Row(text, session))
        for session, tokens in going_on:
            session.extend(tokens)
        self._rows = rows
        await self._keep([row.session for row in rows if row.session is not None])
        return [await session.after() for session in self._sessions]

    async def close(self) -> None:
        await self._keep([])

    async def _open(self, text: tuple[int, ...], most: int, parent: S | None) -> S:
        session = await self._opener(text, most, parent)
        self._sessions.append(session)
        return session

    async def _keep(self, kept: list[S]) -> None:
        """Closes all others; once begun, that goes on to its end, even if nobody waits for it any more."""
        others = [session for session in self._sessions if session not in kept]
        self._sessions = kept
        await asyncio.shield(asyncio.gather(*(session.close() for session in others)))
