"""The beams of one answer as vLLM's scheduler has them: a request for each, all of which take their steps together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from vllm.v1.request import Request

from server.backends.vllm.scheduler.forks import forked
from server.backends.vllm.wire.choices import Choice
from server.backends.vllm.wire.requests import row_of

NEVER = 1 << 62
"""A step that vLLM doesn't reach."""


class Broken(RuntimeError):
    """The beams can't go on as they were chosen."""


@dataclass(slots=True, eq=False)
class Group:
    """Begins with one request, the `leader`, by whose id the front end knows the answer, even when that beam is gone.

    `step`: what was scheduled with rows of it and hasn't ended yet; until then they take no other step. `gathers`: some
    step was too small for all of them, so from now on rows wait before their last tokens until all are that far.
    """

    leader: str
    name: str
    client: int
    rows: list[Request]
    step: Any = None
    gathers: bool = False
    failure: str | None = None
    _eligible: list[tuple[Request, int]] = field(default_factory=list)
    _numbers: Any = field(default_factory=lambda: count(1))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the group's rows in the workers."""
        return tuple(str(row_of(row.sampling_params)) for row in self.rows)

    @property
    def complete(self) -> bool:
        """Whether, after a step, all rows have computed all their tokens."""
        return not any(row.is_prefill_chunk for row in self.rows)

    def most(self, row: Request, tokens: int) -> int:
        """Tokens that a row computes next, of so many that it could."""
        if not self.gathers or all(each.num_tokens - each.num_computed_tokens == 1 for each in self.rows):
            return tokens
        others: int = row.num_tokens - row.num_computed_tokens - 1
        return min(tokens, others)

    def hold(self, step: Any) -> None:
        """Holds the group's rows until that step has ended."""
        self.step = step
        self._eligible = [(row, row.next_decode_eligible_step) for row in self.rows]
        for row in self.rows:
            row.next_decode_eligible_step = NEVER

    def release(self) -> None:
        """Releases the rows: vLLM decides again when they take a step."""
        self.step = None
        for row, eligible in self._eligible:
            row.next_decode_eligible_step = eligible

    def go_on(self, scheduler: Any, choice: Choice) -> list[Request]:
        """Takes the rows of a choice. Returns those that it has left. Raises Broken, and nothing has changed then.

        A row goes on as it is with the one token that vLLM has sampled; all others begin as it.
        """
        before, rows = self.rows, list[Request]()
        if any(before[parent].is_finished() for parent in choice.parents):
            raise Broken("the engine has ended a beam that goes on")
        for parent, tokens in zip(choice.parents, choice.tokens, strict=True):
            row = before[parent]
            sampled = row.all_token_ids[row.num_computed_tokens :]
            rows.append(row if list(tokens) == sampled else self._forked(scheduler, row, tokens))
        self.rows = rows
        return [row for row in before if row not in rows]

    def again(self, scheduler: Any, taken: Collection[str]) -> list[Request]:
        """Repeats a step that not all rows have ended: those that have begin again, and compute their last token anew.

        `taken`: requests of that step, by id. Returns the rows that are left.
        """
        before, self.gathers = self.rows, True
        ended = [row.request_id in taken and not row.is_prefill_chunk for row in before]
        self.rows = [self._forked(scheduler, row, ()) if end else row for row, end in zip(before, ended, strict=True)]
        return [row for row in before if row not in self.rows]

    def _forked(self, scheduler: Any, row: Request, tokens: Sequence[int]) -> Request:
        return forked(scheduler, row, tokens, f"{self.leader}/{next(self._numbers)}")
