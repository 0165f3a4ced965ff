"""Ours behind a thought: the model thinks first, as the server has it, and the budget is for both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from grammar_cache import GrammarError
from server.backends.backend import Work
from server.evaluation.methods.spec import Spec, decoding_settings, parameters
from server.evaluation.model import LocalModel
from server.evaluation.reply import Reply
from server.evaluation.task import Task
from server.grammars.compiled import Grammars
from server.prompts import prompt_of
from server.protocol.chat import ChatRequest
from server.thinking.plan import plan_of


class Think:
    """Settings: those of decoding, `reserve`, and `most`: the share of the budget that a thought has at most."""

    def __init__(self, spec: Spec, model: LocalModel, grammars: Mapping[bool, Grammars]) -> None:
        """`grammars`: see `Ours`. Raises ValueError for a setting that isn't one."""
        spec.only([*decoding_settings(), "reserve", "most"])
        self.label = spec.label
        self._parameters = parameters(spec)
        self._reserve = int(spec.number("reserve", 0)) if "reserve" in spec.settings else None
        self._most = spec.number("most", 1)
        self._model = model
        self._grammars = grammars[True]

    async def answer(self, task: Task, budget: int, seed: int) -> Reply:
        """Refused: a grammar that isn't supported, or a budget below the closing mark and the fewest tokens."""
        request = self._request(task, max(1, int(self._most * budget)))
        prompt = prompt_of(request, self._model.engine)
        assert prompt.closer is not None, "the request asks for a thought"
        try:
            certified = await self._grammars.get(task.constraint)
        except GrammarError as error:
            return Reply("refused", reason=str(error), settled=True)
        minimum = certified.minimum.tokens
        needed = minimum + len(prompt.closer.tokens)
        if budget < needed:
            return Reply("refused", reason=f"thought and answer need {needed} tokens", min_tokens=needed)
        plan = plan_of(request, prompt.closer, self._model.engine.template, minimum, budget, certified.grammar)
        assert plan is not None, "a chat has a plan"
        work = Work(prompt.tokens, certified.grammar, replace(self._parameters, budget=budget, seed=seed), json=True)
        reply = await self._model.think(work, plan)
        return replace(reply, compile_ms=certified.compile_ms, min_tokens=needed)

    def _request(self, task: Task, most: int) -> ChatRequest:
        options = {} if self._reserve is None else {"swyb": {"thinking": {"reserve": self._reserve}}}
        thinking = {"type": "enabled", "budget_tokens": most}
        return ChatRequest.model_validate({"messages": list(task.messages), "thinking": thinking, **options})
