"""Engines in miniature: batches that change as vLLM's do, around the filter, with a model that is a function.

Requests come when they like, are interrupted and come back, lose tokens and get them anew, are computed without being
used, and change places. What a request ends with must not depend on any of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from server.backends.vllm.wire.requests import RowRequest
from server.decoding.language import Language
from tests.server.backends.vllm.fakes import BatchUpdate, MoveDirectionality, Sampling, States, context, sampling

Model = Callable[[tuple[int, ...]], NDArray[np.float32]]
"""Function from a text in tokens, prompt included, to logits."""

LENGTH = 256


@dataclass(eq=False)
class Job:
    """A request under way; `request` None: one of somebody else's."""

    request: RowRequest | None
    language: Language
    prompt: list[int]
    output: list[int] = field(default_factory=list)
    answer: tuple[int, ...] | None = None

    @property
    def sampling(self) -> Sampling:
        return sampling(self.request)

    def take(self, token: int) -> None:
        """The answer is there with an end token, where nothing may follow, or where the budget is spent."""
        self.output.append(token)
        request = self.request
        if request is None:
            return
        tokens = [*self.prompt[request.prompt_tokens :], *self.output]
        configuration: int | None = self.language.start
        for known in tokens:
            if known in self.language.vocabulary.stop_ids or configuration is None:
                break
            after = self.language.consume_batch(np.array([configuration], np.int32), np.array([[known]], np.int32))
            configuration = int(after[0, 0]) if after[0, 0] >= 0 else None
        over = configuration is None or self.language.ends(configuration) or len(tokens) >= request.parameters.budget
        if over or token in self.language.vocabulary.stop_ids:
            self.answer = tuple(tokens)


class Runner:
    """Takes steps until all jobs have answers. `events`: how often something odd happens, of each kind."""

    def __init__(self, model: Model, events: random.Random, width: int) -> None:
        self.model = model
        self.events = events
        self.width = width

    def run(self, jobs: Sequence[Job]) -> None:
        waiting = list(jobs)
        running: list[Job] = []
        for _ in range(40 * LENGTH):
            for job in [job for job in running if job.answer is not None]:
                self.leave(job)
                running.remove(job)
            while waiting and (not running or self.events.random() < 0.5):
                job = waiting.pop(self.events.randrange(len(waiting)))
                running.append(job)
                self.enter(job)
            if not any(job.request is not None for job in [*running, *waiting]):
                return
            self.step(running)
            for job in [job for job in running if self.events.random() < 0.1]:
                self.leave(job)  # interrupted
                running.remove(job)
                waiting.append(job)
                if self.events.random() < 0.3:
                    del job.output[len(job.output) // 2 :]
        raise AssertionError("an answer never ends")

    def step(self, running: Sequence[Job]) -> None:
        rows = self.rows(running)
        logits = torch.from_numpy(np.stack([self.model((*job.prompt, *job.output)) for job in rows]))
        before = logits.clone()
        found = self.apply(logits, rows)
        for row, job in enumerate(rows):
            if job.request is None:
                assert torch.equal(found[row].nan_to_num(7), before[row].nan_to_num(7))
                continue
            token = int(found[row].argmax())
            assert found[row].softmax(0)[token] == 1.0
            if self.events.random() < 0.85:  # else it was computed for nothing
                job.take(token)
            elif self.events.random() < 0.2:
                del job.output[max(0, len(job.output) - 2) :]

    def rows(self, running: Sequence[Job]) -> list[Job]:
        raise NotImplementedError

    def enter(self, job: Job) -> None:
        raise NotImplementedError

    def leave(self, job: Job) -> None:
        raise NotImplementedError

    def apply(self, logits: torch.Tensor, rows: Sequence[Job]) -> torch.Tensor:
        raise NotImplementedError


class V1Runner(Runner):
    """Rows stay where they are; what leaves is filled up by what comes, and then from the end."""

    def __init__(self, made: Any, model: Model, events: random.Random, width: int) -> None:
        super().__init__(model, events, width)
        self.filter = made
        self.batch: list[Job | None] = []
        self.told: list[Job | None] = []

    def enter(self, job: Job) -> None:
        job.output = list(job.output)  # a resumed request may have another list
        at = self.batch.index(None) if None in self.batch else len(self.batch)
        self.batch[at : at + 1] = [job]

    def leave(self, job: Job) -> None:
        at = self.batch.index(job)
        self.batch[at] = None
        self.told[at : at + 1] = [None]

    def rows(self, running: Sequence[Job]) -> list[Job]:
        before, moved = self.told, []
        added = [
            (at, job.sampling, job.prompt, job.output)
            for at, job in enumerate(self.batch)
            if job is not None and (at >= len(before) or before[at] is not job or self.events.random() < 0.05)
        ]
        kept = {at for at, *_ in added}
        removed = [at for at, job in enumerate(self.batch) if job is None and at not in kept]
        while None in self.batch:  # condense
            if self.batch[-1] is None:
                self.batch.pop()
                continue
            empty, last = self.batch.index(None), len(self.batch) - 1
            self.batch[empty] = self.batch.pop()
            moved.append((last, empty, MoveDirectionality.UNIDIRECTIONAL))
        if len(self.batch) > 1 and self.events.random() < 0.3:
            one, two = self.events.sample(range(len(self.batch)), 2)
            self.batch[one], self.batch[two] = self.batch[two], self.batch[one]
            moved.append((one, two, MoveDirectionality.SWAP))
        changed = bool(added or removed or moved)
        self.filter.update_state(BatchUpdate(len(self.batch), removed, added, moved) if changed else None)
        self.told = list(self.batch)
        return [job for job in self.batch if job is not None]

    def apply(self, logits: torch.Tensor, rows: Sequence[Job]) -> torch.Tensor:
        found: torch.Tensor = self.filter.apply(logits)
        return found


class V2Runner(Runner):
    """Requests have slots; the order of rows changes every step."""

    def __init__(self, made: Any, states: States, model: Model, events: random.Random, width: int) -> None:
        super().__init__(model, events, width)
        self.filter, self.states = made, states
        self.slots: dict[Job, int] = {}

    def enter(self, job: Job) -> None:
        slot = self.events.choice(
            [n for n in range(len(self.states.all_token_ids.gpu)) if n not in self.slots.values()]
        )
        self.slots[job] = slot
        assert self.filter.add_request(slot, job.sampling) == (job.request is not None)

    def leave(self, job: Job) -> None:
        del self.slots[job]

    def rows(self, running: Sequence[Job]) -> list[Job]:
        return self.events.sample(list(running), len(running))

    def apply(self, logits: torch.Tensor, rows: Sequence[Job]) -> torch.Tensor:
        texts = [[*job.prompt, *job.output] for job in rows]
        for job, text in zip(rows, texts, strict=True):
            self.states.write(self.slots[job], text)
        slots = [self.slots[job] for job in rows]
        found: torch.Tensor = self.filter.apply(logits, context(slots, [len(text) for text in texts]))
        return found
