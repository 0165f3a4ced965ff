"""vLLM's scheduler, which has the beams of an answer take each step together, and then go on as the workers chose; and
which gives single texts under a grammar their masks.

Named to vLLM as `server.backends.vllm.scheduler.scheduler.scheduler`. Each beam is a request. The front end knows the
first one only; all others begin here, as what their parents have computed, and never wait in line: memory and places
for all of them were free before the first began (`capacity`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.output import NewRequestData
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason
from vllm.v1.request import Request, RequestStatus

from server.backends.vllm.scheduler import calls
from server.backends.vllm.scheduler.groups import Broken, Group
from server.backends.vllm.scheduler.masked_texts import MaskedTexts, make_ours
from server.backends.vllm.wire.choices import ATTRIBUTE, Choice, Turns, choices_of
from server.backends.vllm.wire.requests import row_of


class _Together(Scheduler):  # type: ignore[misc]  # vLLM is not installed where types are checked
    """Scheduler that schedules the rows of a search together."""

    running: list[Request]
    kv_cache_manager: Any
    structured_output_manager: Any
    use_v2_model_runner: bool
    max_num_running_reqs: int
    get_request_counts: Callable[[], tuple[int, int]]
    has_finished_requests: Callable[[], bool]

    def __init__(self, vllm_config: Any, **options: Any) -> None:
        super().__init__(vllm_config, **options)
        make_ours(self.structured_output_manager, vllm_config)
        self.masked = MaskedTexts(Path(vllm_config.model_config.model))
        self._groups: dict[str, Group] = {}
        self._group_of: dict[str, Group] = {}
        self._over: list[str] = []
        self._begun: set[str] = set()
        self._to_tell: list[NewRequestData] = []

    def add_request(self, request: Request) -> None:
        self.masked.begin(request)
        super().add_request(request)
        name = row_of(request.sampling_params)
        if name is not None:
            group = Group(request.request_id, name, request.client_index, [request])
            self._groups[group.leader] = self._group_of[group.leader] = group

    def finish_requests(self, request_ids: str | Iterable[str] | None, finished_status: RequestStatus) -> list[Request]:
        """An answer that is given up takes all its beams along."""
        if request_ids is None:
            leaders = list(self._groups)
            self.masked.forget(None)
        else:
            request_ids = [request_ids] if isinstance(request_ids, str) else list(request_ids)
            self.masked.forget(request_ids)
            leaders = [name for name in request_ids if name in self._groups]
            request_ids += [row.request_id for name in leaders for row in self._groups[name].rows]
        for leader in leaders:
            self._forget(self._groups[leader])
        found: list[Request] = super().finish_requests(request_ids, finished_status)
        return found

    def has_requests(self) -> bool:
        """Whether there is anything to schedule; false while all there is waits for a step under way: another would be
        empty.
        """
        waits = self._groups and not (self.get_request_counts()[1] or self.has_finished_requests())
        if waits and all(self._is_held(request) for request in self.running):
            return False
        return bool(super().has_requests())

    def schedule(self, *arguments: Any) -> Any:
        # Beams wait for each other: they come before others' prompts.
        if self._groups:
            self.running.sort(key=lambda request: not self._is_one_of_several(request))
        output = super().schedule(*arguments)
        output.scheduled_new_reqs.extend(self._to_tell)
        turns = {group.name: group.names for group in self._groups.values() if self._takes_turn(group, output)}
        setattr(output, ATTRIBUTE, Turns(turns, tuple(self._over)))
        self._to_tell, self._over = [], []
        return output

    def update_from_output(self, scheduler_output: Any, model_runner_output: Any) -> dict[int, EngineCoreOutputs]:
        leaders, hidden = set(self._groups), set(self._group_of)
        outputs = super().update_from_output(scheduler_output, model_runner_output)
        hidden -= leaders - self._groups.keys()  # answers that vLLM has given up meanwhile
        found: dict[int, EngineCoreOutputs] = outputs
        if hidden:
            for those in found.values():
                those.outputs = [one for one in those.outputs if one.request_id not in hidden]
        for those in found.values():
            for one in those.outputs:
                self.masked.tell(one)
        turns, choices = getattr(scheduler_output, ATTRIBUTE).rows, choices_of(model_runner_output)
        for group in list(self._groups.values()):
            news = self._after(group, scheduler_output, turns, choices)
            if news is not None:
                found.setdefault(group.client, EngineCoreOutputs()).outputs.append(news)
        return found

    def _is_one_of_several(self, request: Request) -> bool:
        group = self._group_of.get(request.request_id)
        return group is not None and len(group.rows) > 1

    def _is_held(self, request: Request) -> bool:
        group = self._group_of.get(request.request_id)
        return group is not None and group.step is not None

    def _takes_turn(self, group: Group, output: Any) -> bool:
        """Whether all rows of a group are in the step that was scheduled, to their ends. If some are, it is waited
        for.
        """
        taken = [row.request_id in output.num_scheduled_tokens for row in group.rows]
        turn = all(taken) and group.complete
        if turn or (any(taken) and len(taken) > 1):
            group.hold(output)
        return turn

    def _after(self, group: Group, step: Any, turns: Any, choices: Any) -> EngineCoreOutput | None:
        """Output for the front end about a group, if a step of it has ended."""
        if group.failure is not None:
            return self._ended(group, Choice.failed(group.failure))
        if group.step is not step:
            return None
        group.release()
        if group.name not in turns:
            self._leave(group, group.again(self, step.num_scheduled_tokens))
            return None
        choice = choices.get(group.name) or Choice.failed("the workers told nothing of a step of the beams")
        if choice.over:
            return self._ended(group, choice)
        try:
            self._leave(group, group.go_on(self, choice))
            if len(self.running) > self.max_num_running_reqs:
                raise Broken("the engine has no places for all beams")
        except Broken as error:
            return self._ended(group, Choice.failed(str(error)))
        return EngineCoreOutput(group.leader, [], kv_transfer_params=choice.news)

    def _ended(self, group: Group, choice: Choice) -> EngineCoreOutput:
        rows = [row.request_id for row in group.rows]
        self._forget(group)
        super().finish_requests(rows, RequestStatus.FINISHED_STOPPED)
        return EngineCoreOutput(group.leader, [], finish_reason=FinishReason.STOP, kv_transfer_params=choice.news)

    def _leave(self, group: Group, rows: list[Request]) -> None:
        """Takes in the rows that have begun, and ends those that are left."""
        for row in group.rows:
            if row.request_id not in self._group_of:
                self._group_of[row.request_id] = group
                self._begun.add(row.request_id)
        for row in rows:
            del self._group_of[row.request_id]
            self._begun.discard(row.request_id)
        super().finish_requests([row.request_id for row in rows], RequestStatus.FINISHED_STOPPED)

    def _forget(self, group: Group) -> None:
        del self._groups[group.leader]
        for row in group.rows:
            del self._group_of[row.request_id]
            self._begun.discard(row.request_id)
        self._over.append(group.name)

    def _make_cached_request_data(self, running_reqs: list[Request], *arguments: Any) -> Any:
        """Rows that have begun run already, but the workers don't know them: they are told as new ones."""
        self._to_tell = [self._told(row) for row in running_reqs if row.request_id in self._begun]
        known = [row for row in running_reqs if row.request_id not in self._begun]
        self._begun.difference_update(row.request_id for row in running_reqs)
        return super()._make_cached_request_data(known, *arguments)

    def _reserve_prefill_lookahead(self, request: Request, num_computed_tokens: int, num_new_tokens: int) -> int:
        """Tokens of a request in the step that is being scheduled: vLLM asks here for the last time."""
        count: int = super()._reserve_prefill_lookahead(request, num_computed_tokens, num_new_tokens)
        group = self._group_of.get(request.request_id)
        return count if group is None else group.most(request, count)

    def _told(self, row: Request) -> NewRequestData:
        blocks = self.kv_cache_manager.get_block_ids(row.request_id)
        return NewRequestData.from_request(row, blocks, row._all_token_ids if self.use_v2_model_runner else None)

    def _preempt_request(self, request: Request, *arguments: Any, **options: Any) -> None:
        super()._preempt_request(request, *arguments, **options)
        group = self._group_of.get(request.request_id)
        if group is None:
            return
        # A leader alone may begin anew between its steps. Amid one its choice is still to come, for what is forgotten.
        if len(group.rows) > 1 or request.request_id != group.leader or group.step is not None:
            group.failure = "the engine has taken back the memory of a beam"


class _Asynchronous(_Together, AsyncScheduler):  # type: ignore[misc]
    pass


def scheduler(**options: Any) -> Scheduler:
    """Scheduler of the kind that the configuration asks for, with vLLM's own arguments."""
    calls.install()
    asynchronous = options["vllm_config"].scheduler_config.async_scheduling
    return (_Asynchronous if asynchronous else _Together)(**options)
