"""A server's own structured output: the constraint goes with the request, in the shape that the server reads."""

from __future__ import annotations

import json
from typing import Any

from server.evaluation.methods.spec import Spec
from server.evaluation.remote import RemoteModel
from server.evaluation.reply import Reply
from server.evaluation.task import Task

SHAPES = ("openai", "vllm", "llama.cpp", "sglang")
_OURS = {"M": "beam_width", "alpha": "alpha", "k": "top_k"}
"""Fields of our own server's `swyb` object."""


class Served:
    """Settings: `shape`, `temperature`, and `M`, `alpha`, `k` where the server is ours.

    `think`: `on` or `off`, or the share of the budget that a thought has at most.
    """

    def __init__(self, spec: Spec, model: RemoteModel) -> None:
        """Raises ValueError for a setting that isn't one."""
        spec.only([*_OURS, "shape", "temperature", "think"])
        self.label = spec.label
        self._shape = spec.choice("shape", SHAPES, "openai")
        self._temperature = spec.number("temperature", 0.0)
        numbers = {field: spec.number(key, 0) for key, field in _OURS.items() if key in spec.settings}
        self._options = {field: value if field == "alpha" else int(value) for field, value in numbers.items()}
        self._thinks = None if "think" not in spec.settings else spec.settings["think"] != "off"
        self._most = 0.0 if spec.settings.get("think") in ("on", "off") else spec.number("think", 0)
        self._model = model

    async def answer(self, task: Task, budget: int, seed: int) -> Reply:
        """Refused where the server's shape has no form of the task's language."""
        fields = constraint_fields(task, self._shape)
        if fields is None:
            return Reply("refused", reason=f"the language isn't written in a form for {self._shape}", settled=True)
        if self._options:
            fields = {**fields, "swyb": self._options}
        fields = {**fields, **self._thinking(budget)}
        return await self._model.complete(task, budget, fields, temperature=self._temperature, seed=seed)

    def _thinking(self, budget: int) -> dict[str, Any]:
        if not self._thinks:
            return {} if self._thinks is None else {"reasoning_effort": "none"}
        bound = {"budget_tokens": max(1, int(self._most * budget))} if self._most else {}
        return {"thinking": {"type": "enabled", **bound}}


def constraint_fields(task: Task, shape: str) -> dict[str, Any] | None:
    """The request's fields that carry the constraint; None where there is no form for this shape."""
    if task.tools:  # which the model sends
        return {"tool_choice": task.tool_choice}
    kind, text = task.constraint.kind, task.constraint.text
    gbnf = text if kind == "gbnf" else task.forms.get("gbnf")
    lark = text if kind == "lark" else task.forms.get("lark")
    if kind == "json_schema":
        return _schema_fields(json.loads(text), shape)
    if shape == "openai":  # our own server's shape too, which reads every dialect
        return (
            {"response_format": {"type": "grammar", "grammar": text, "syntax": kind}}
            if kind in ("gbnf", "lark")
            else None
        )
    grammar = gbnf or lark if shape == "vllm" else gbnf
    if grammar is None:
        return None
    match shape:
        case "vllm":
            return {"structured_outputs": {"grammar": grammar}}
        case "llama.cpp":
            return {"grammar": grammar}
        case _:
            return {"ebnf": grammar}


def _schema_fields(schema: Any, shape: str) -> dict[str, Any]:
    match shape:
        case "vllm":
            return {"structured_outputs": {"json": schema}}
        case "llama.cpp":
            return {"json_schema": schema}
        case _:
            return {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "schema": schema, "strict": True},
                }
            }
