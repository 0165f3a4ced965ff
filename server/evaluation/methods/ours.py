"""Ours: the grammar compiled as the server does, and Algorithm 1 with its budget."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from grammar_cache import GrammarError
from grammar_cache.constraint import Whitespace
from server.evaluation.methods.spec import Spec, decoding_settings, parameters
from server.evaluation.model import LocalModel
from server.evaluation.reply import Reply
from server.evaluation.task import Task
from server.grammars import Grammars
from server.settings import Settings

WHITESPACE = ("compact", "bounded", "any")


class Ours:
    """Settings: those of decoding (`M`, `alpha`, `k`, `temperature`, …), and `whitespace` for JSON."""

    def __init__(self, spec: Spec, model: LocalModel, grammars: Grammars) -> None:
        """`grammars` may be shared. Raises ValueError for a setting that isn't one."""
        spec.only([*decoding_settings(), "whitespace"])
        self.label = spec.label
        self._parameters = parameters(spec)
        self._whitespace: Whitespace | None = None
        if "whitespace" in spec.settings:
            self._whitespace = cast(Whitespace, spec.choice("whitespace", WHITESPACE, "bounded"))
        self._model = model
        self._grammars = grammars

    async def answer(self, task: Task, budget: int, seed: int) -> Reply:
        """Refused: a grammar that isn't supported, or a budget below the fewest tokens of an answer."""
        constraint = task.constraint
        if self._whitespace is not None:
            constraint = replace(constraint, whitespace=self._whitespace)
        try:
            certified = await self._grammars.get(constraint)
        except GrammarError as error:
            return Reply("refused", reason=str(error), settled=True)
        fewest = certified.minimum.tokens
        if budget < fewest:
            reason = f"an answer needs {fewest} tokens" if certified.minimum.exact else f"an answer may need {fewest}"
            return Reply("refused", reason=reason, compile_ms=certified.compile_ms, min_tokens=fewest)
        chosen = replace(self._parameters, budget=budget, seed=seed)
        reply = await self._model.decode(task, certified.grammar, chosen)
        return replace(reply, compile_ms=certified.compile_ms, min_tokens=fewest)


def shared_grammars(model: LocalModel) -> Grammars:
    """Compiled grammars as the server keeps them, for all methods of one run."""
    settings = Settings()
    return Grammars(
        model.engine.vocabulary,
        longest_answer=model.engine.context_window,
        limits=settings.limits,
        count=settings.cached_grammars,
        states=settings.cached_states,
        threads=1,
    )
