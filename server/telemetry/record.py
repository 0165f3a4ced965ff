"""Record of one request: what is known of it by its end, in numbers and closed lists of words.

One event loop writes it. Nothing that a client has written is in it: neither prompt, answer, key, path nor name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic, time
from typing import Literal, TypeAlias

from server.decoding.answer import Answer, Cost

NOBODY = "anonymous"
"""Name of the key of requests that brought none."""

OTHER = "other"
"""Route of paths that are no route."""

Moment: TypeAlias = Literal["compiling", "compiled", "queued", "started", "first_token", "answered"]
"""Moment on a request's way: its grammar is asked for and there; its first work waits, is decoded, has a token, and the
last of its answers is out.
"""


@dataclass(slots=True, eq=False)
class Record:
    """Record of a request that has been received. Times are seconds of `clock`; `wall` is that of `received` by the
    system's clock.
    """

    clock: Callable[[], float] = monotonic
    received: float = field(default_factory=monotonic)
    wall: float = field(default_factory=time)
    ended: float | None = None
    id: str = ""
    parent: str | None = None
    """W3C `traceparent` of the client, as it was sent."""
    method: str = ""
    route: str = OTHER
    key: str = NOBODY
    status: int = 0
    error: str | None = None
    """Code of the error that was told; see `server.protocol.errors`."""
    limited: str | None = None
    """Limit that turned the request away."""
    abandoned: bool = False
    """Whether the client went away before the answer was out."""
    stream: bool = False
    answers: int = 0
    beam_width: int | None = None
    prompt_tokens: int = 0
    """Tokens of all prompts of the request."""
    budget: int | None = None
    """Tokens that an answer may have: the most, where prompts leave different room."""
    minimum: int | None = None
    grammar_id: str | None = None
    source: str | None = None
    """Source of the grammar: `hit`, `miss` or `shared`."""
    compile_seconds: float | None = None
    """Seconds for compiling or loading a grammar that wasn't here."""
    finished: Counter[str] = field(default_factory=Counter)
    """Answers by their reason to end."""
    affected: Counter[str] = field(default_factory=Counter)
    """Answers under a constraint by what the budget did: `true`, `false`, or `unknown`."""
    generated: list[int] = field(default_factory=list)
    """Tokens of each answer, with its thought."""
    slack: list[int] = field(default_factory=list)
    """Tokens of its budget that each answer has left."""
    lost: int = 0
    """Tokens of texts that were told in part, about, as nobody waited for their end."""
    budget_forced: int = 0
    costs: list[Cost] = field(default_factory=list)
    moments: dict[Moment, float] = field(default_factory=dict)

    def mark(self, moment: Moment, at: float | None = None) -> None:
        """Notes the first time that a moment comes."""
        self.moments.setdefault(moment, self.clock() if at is None else at)

    @contextmanager
    def compiling(self) -> Iterator[Callable[[str, int, str, float], None]]:
        """Scope in which the grammar is waited for; to be told its id, its minimum, its source and milliseconds."""

        def compiled(grammar_id: str, minimum: int, source: str, milliseconds: float) -> None:
            if self.source is None:  # else another prompt of the request has brought it here
                self.grammar_id, self.minimum, self.source = grammar_id, minimum, source
                self.compile_seconds = milliseconds / 1000

        self.mark("compiling")
        try:
            yield compiled
        finally:
            self.mark("compiled")

    def ask(self, answers: int, *, stream: bool) -> None:
        """Takes in what a client asks for."""
        self.answers, self.stream = answers, stream

    def plan(self, prompt_tokens: int, budget: int, beam_width: int) -> None:
        """Takes in what a prompt is to be answered with."""
        self.prompt_tokens += prompt_tokens
        self.budget, self.beam_width = max(budget, self.budget or 0), beam_width

    def take_cost(self, answer: Answer) -> None:
        """Takes in what decoding an answer, or a part of its thought, has cost; answers of one work share it."""
        if answer.cost is None or any(cost is answer.cost for cost in self.costs[-1:]):
            return
        self.costs.append(answer.cost)
        if answer.cost.first_step is not None:
            self.mark("first_token", answer.cost.first_step)

    def take_answer(self, answer: Answer, budget: int) -> None:
        """Takes in an answer, and the budget that it had, as it is told."""
        self.moments["answered"] = self.clock()
        self.finished[answer.finish_reason] += 1
        self.generated.append(answer.tokens_spent)
        self.slack.append(max(0, budget - answer.tokens_spent))
        self.budget_forced += answer.budget_forced_tokens or 0
        if self.grammar_id is not None:
            self.affected["unknown" if answer.budget_affected is None else str(answer.budget_affected).lower()] += 1

    def end(self) -> None:
        """Closes the record."""
        self.ended = self.clock()
        missing = self.answers - sum(self.finished.values())
        failed = self.abandoned or self.error is not None  # else there were no more texts to be found
        if failed and missing > 0 and "queued" in self.moments:
            self.finished["abort" if self.abandoned else "error"] += missing

    def between(self, first: Moment | None, last: Moment | None) -> float | None:
        """Seconds from one moment to another, if both came; None for the request's beginning, or its end."""
        begun = self.received if first is None else self.moments.get(first)
        ended = self.ended if last is None else self.moments.get(last)
        return None if begun is None or ended is None else max(0.0, ended - begun)
