"""Fields that ask for thoughts before an answer: OpenAI's, Anthropic's, and those of other servers."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from server.protocol.foreign.field import Foreign
from server.protocol.strict import StrictModel

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
MARK = 200
"""Characters of a mark, not all of them spaces."""

Mark: TypeAlias = Annotated[str, Field(max_length=MARK, pattern=r"\S")]
Tokens: TypeAlias = Annotated[int, Field(ge=1)]


class Reasoning(StrictModel):
    """Reasoning, as OpenAI's newer interface and routers ask for it."""

    effort: Effort | None = None
    """See `reasoning_effort`."""
    max_tokens: Tokens | None = None
    """Most tokens of the thought; asks for one."""
    enabled: bool | None = None
    """Whether there is a thought."""
    exclude: bool | None = None
    """Leaves the thought out of the answer; its tokens count all the same."""
    summary: Literal["auto", "concise", "detailed"] | None = None
    """Changes nothing: the thought itself is told."""


class Thinking(StrictModel):
    """Thinking, as Anthropic's interface asks for it."""

    type: Literal["enabled", "adaptive", "disabled"]
    budget_tokens: Tokens | None = None
    """Most tokens of the thought."""
    display: Literal["summarized", "omitted"] | None = None
    """`omitted` leaves the thought out of the answer; `summarized` tells it, whole: nothing sums it up."""

    foreign = MappingProxyType({"block_binding": Foreign((), "a thought is bound to nothing: leave it out")})


class ThinkingOptions(StrictModel):
    """Our own options of thoughts; see docs/how-to/thinking.md."""

    begin: Mark | None = None
    """Text that opens a thought, for a model whose template tells none; asks for one. Default: the template's, or
    `<think>` and a line break.
    """
    end: Mark | None = None
    """Text that closes a thought; asks for one. Default: the template's, or `</think>` and an empty line."""
    reserve: int | None = Field(default=None, ge=0)
    """Tokens that the answer gets at least, where the budget has them and even if its minimum is less."""


class ThinkingFields(StrictModel):
    """Fields of requests for an answer whose model may think first."""

    reasoning: Reasoning | None = None
    """Thoughts before the answer, as OpenAI's `/v1/responses` and routers ask for them: an object with `effort`,
    `max_tokens`, `enabled`, `exclude` and `summary`. See docs/how-to/thinking.md.
    """
    thinking: Thinking | None = None
    """Thoughts before the answer, as Anthropic asks for them: `{"type": "enabled", "budget_tokens": 1024}`, or
    `disabled`. `budget_tokens` bounds the thought, and may be left out; `display` says whether it is told.
    """
    think: bool | Effort | None = None
    """Ollama's name: whether the model thinks, or its `reasoning_effort`."""
    thinking_budget: int | None = Field(default=None, ge=0)
    """Most tokens of a thought, where there is one; 0: none."""
    include_reasoning: bool | None = None
    """Whether the thought is told. Default true."""
