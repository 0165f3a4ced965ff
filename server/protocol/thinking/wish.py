"""Wish of a request concerning thoughts: one, out of all the fields that speak of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from server.engines.thought_marks import SWITCHES
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.thinking.fields import Effort, Reasoning, Thinking

T = TypeVar("T")


class Wishing(Protocol):
    """Request with the fields that speak of thoughts."""

    @property
    def chat_template_kwargs(self) -> Mapping[str, Any] | None: ...
    @property
    def enable_thinking(self) -> bool | None: ...
    @property
    def reasoning_effort(self) -> Effort | None: ...
    @property
    def reasoning(self) -> Reasoning | None: ...
    @property
    def thinking(self) -> Thinking | None: ...
    @property
    def think(self) -> bool | Effort | None: ...
    @property
    def thinking_budget(self) -> int | None: ...
    @property
    def include_reasoning(self) -> bool | None: ...


@dataclass(frozen=True, slots=True)
class Wish:
    """`wanted` None: nobody said, so the model does as its template has it. `field`: where it was said, or would be.

    `limit`: most tokens of the thought. `told`: whether the answer is to tell it.
    """

    wanted: bool | None
    field: str
    effort: Effort | None
    limit: int | None
    told: bool


def wish_of(request: Wishing, *, own_marks: bool) -> Wish:
    """The wish of a request. `own_marks`: it brings marks of thoughts. Raises ApiError for fields that disagree."""
    wanted, field = _agreed("whether the model thinks", _wanted(request, own_marks=own_marks))
    effort, _ = _agreed("the effort", _efforts(request))
    limit, _ = _agreed("the tokens of the thought", _limits(request))
    told, _ = _agreed("whether the thought is told", _told(request))
    return Wish(wanted, field or "reasoning_effort", effort, limit, told is not False)


def _wanted(request: Wishing, *, own_marks: bool) -> Iterator[tuple[str, bool]]:
    for name in SWITCHES:
        value = (request.chat_template_kwargs or {}).get(name)
        if isinstance(value, bool):
            yield f"chat_template_kwargs.{name}", value
    if request.enable_thinking is not None:
        yield "enable_thinking", request.enable_thinking
    for field, effort in _efforts(request):
        yield field, effort != "none"
    if request.reasoning is not None:
        if request.reasoning.enabled is not None:
            yield "reasoning.enabled", request.reasoning.enabled
        if request.reasoning.max_tokens is not None:
            yield "reasoning.max_tokens", True
    if request.thinking is not None:
        yield "thinking", request.thinking.type != "disabled"
    if isinstance(request.think, bool):
        yield "think", request.think
    if request.thinking_budget == 0:
        yield "thinking_budget", False
    if own_marks:
        yield "swyb.thinking", True


def _efforts(request: Wishing) -> Iterator[tuple[str, Effort]]:
    if request.reasoning_effort is not None:
        yield "reasoning_effort", request.reasoning_effort
    if request.reasoning is not None and request.reasoning.effort is not None:
        yield "reasoning", request.reasoning.effort
    if isinstance(request.think, str):
        yield "think", request.think


def _limits(request: Wishing) -> Iterator[tuple[str, int]]:
    if request.thinking_budget:
        yield "thinking_budget", request.thinking_budget
    if request.reasoning is not None and request.reasoning.max_tokens is not None:
        yield "reasoning.max_tokens", request.reasoning.max_tokens
    if request.thinking is not None and request.thinking.budget_tokens is not None:
        yield "thinking.budget_tokens", request.thinking.budget_tokens


def _told(request: Wishing) -> Iterator[tuple[str, bool]]:
    if request.include_reasoning is not None:
        yield "include_reasoning", request.include_reasoning
    if request.reasoning is not None and request.reasoning.exclude is not None:
        yield "reasoning.exclude", not request.reasoning.exclude
    if request.thinking is not None and request.thinking.display is not None:
        yield "thinking.display", request.thinking.display != "omitted"


def _agreed(what: str, said: Iterable[tuple[str, T]]) -> tuple[T | None, str]:
    """The value that all fields have, and the first one's name. Raises ApiError where they differ."""
    first: T | None = None
    name = ""
    for field, value in said:
        if name and value != first:
            message = f"{name} and {field} say different things: {what}"
            raise ApiError(ErrorCode.CONFLICTING_PARAMETERS, message, param=field)
        first, name = value, name or field
    return first, name
