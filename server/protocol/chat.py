"""A chat request as it is accepted: every field is honoured, or by its nature changes no answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError, PydanticKnownError

from server.protocol.formats import GrammarText, ResponseFormat, Schema
from server.protocol.strict import StrictModel

Whitespace = Literal["compact", "bounded", "any"]
Lexer = Literal["dynamic", "contextual"]


MESSAGES = 4_096
"""Turns of one chat."""
PARTS = 4_096
"""Parts of one turn's content."""
STOPS = 4

_PART = frozenset({"type", "text"})


class TextPart(StrictModel):
    """A part of a content, as the description has it; `_joined` reads it."""

    type: Literal["text"]
    text: str


def _joined(content: object) -> object:
    """The text of a content given in parts, one after the other with nothing between them."""
    if not isinstance(content, list):
        return content
    if len(content) > PARTS:
        context = {"field_type": "List", "max_length": PARTS, "actual_length": len(content)}
        raise PydanticKnownError("too_long", context)
    return "".join(_text_of(part) for part in content)


def _text_of(part: object) -> str:
    if not isinstance(part, dict) or part.get("type") != "text":
        raise PydanticCustomError("content_part", "only parts of type text are supported")
    text = part.get("text")
    if not isinstance(text, str) or any(part[name] is not None for name in part.keys() - _PART):
        raise PydanticCustomError("content_part", "a text part has a type and a text, and nothing else")
    return text


def _listed(stop: object) -> object:
    """One stop text is a list of one; the empty text stops nothing."""
    if isinstance(stop, str):
        return [stop] if stop else None
    return stop


StopText: TypeAlias = Annotated[str, Field(min_length=1, max_length=1_000)]
StopTexts: TypeAlias = Annotated[list[StopText], Field(max_length=STOPS, fail_fast=True)]


class ChatMessage(StrictModel):
    """One turn. A `developer` is to the model's template a `system`."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[
        str,
        BeforeValidator(_joined, json_schema_input_type=str | Annotated[list[TextPart], Field(max_length=PARTS)]),
    ]


class StreamOptions(StrictModel):
    """`include_usage`: one more chunk before the end, with the usage. Chunks are never padded."""

    include_usage: bool | None = None
    include_obfuscation: Literal[False] | None = None
    continuous_usage_stats: Literal[False] | None = None


class ConstraintOptions(StrictModel):
    """Options for reading a constraint; see `grammar_cache.constraint`."""

    whitespace: Whitespace | None = None
    """White space in JSON (docs/how-to/whitespace.md); null means `bounded`."""
    lenient: bool | None = None
    """Drops schema keywords that can't be enforced, and reports them."""
    start: str | None = Field(default=None, min_length=1, max_length=1_000)
    """Start rule of a grammar; null means `root` in GBNF, `start` in Lark."""
    lexer: Lexer | None = None
    """Way to tell the terminals of a Lark grammar apart (docs/explain/lexing.md); null means `dynamic`, Lark's own
    default.
    """


class SwybOptions(ConstraintOptions):
    """Our own fields; see `server.decoding.parameters` for what those mean that are not of the constraint."""

    beam_width: int = Field(default=1, ge=1, le=16)
    """Number of prefixes that are kept; the best complete one is returned. See docs/how-to/beams.md."""
    alpha: float | None = Field(default=None, ge=0.0, le=1.0)
    """α_min of distance-guided scoring (docs/how-to/alpha.md); null means 0.5 for beams under a constraint, else 0. For
    beams and greedy answers only: set `temperature` to 0, or `beam_width` above 1.
    """
    top_k: int = Field(default=64, ge=1, le=1024)
    """Number of the model's best tokens that a beam looks at."""
    jump_forward: bool | Literal["text"] = True
    """Takes tokens that have no alternative without asking the model. `text` does so with text that has none, cut as
    the tokenizer cuts it, and scores it 0; for beams and greedy answers. Fewer steps, and maybe another answer than
    token by token.
    """


class ChatRequest(StrictModel):
    """`POST /v1/chat/completions`. `server.protocol.reading` refuses other servers' fields."""

    model: str | None = None
    """Name of the served model. Another name is a 404."""
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MESSAGES, fail_fast=True)]
    """Up to 4,096 turns with `role` (`system`, `developer`, `user`, `assistant`) and `content`: a string, or a list of
    up to 4,096 parts of type `text`. Nothing adds the schema to them: see docs/how-to/prompt.md.
    """
    temperature: float | None = Field(default=None, ge=0.0, le=2.0)
    """0 is greedy. Above 0 tokens are drawn from the model's distribution over the viable tokens. Default 1; with beams
    0.
    """
    top_p: float | None = Field(default=None, gt=0.0, le=1.0)
    """Truncates what is drawn from to the likeliest tokens of this mass; counts viable tokens only. Not with beams."""
    top_k: int | None = Field(default=None, ge=-1)
    """Truncates what is drawn from to so many tokens; 0 and -1 mean all. Not with beams."""
    seed: int | None = Field(default=None, ge=-(1 << 63), lt=1 << 64)
    """Fixes the draws: equal seeds, equal draws."""
    n: int | None = Field(default=None, ge=1, le=128)
    """Number of answers, each within the budget. Drawn ones have the seeds that follow `seed`; a search returns its
    best texts, no two alike, so `n` is at most `swyb.beam_width`. Texts that its beams missed are found without the
    model; fewer come where the language has no more within the budget. Default 1.
    """
    max_tokens: int | None = Field(default=None, ge=1)
    """Budget T: every token of the answer counts, an end token too. See docs/how-to/budget.md."""
    max_completion_tokens: int | None = Field(default=None, ge=1)
    """Newer name of `max_tokens`; two different numbers are an error."""
    stop: Annotated[
        StopTexts | None,
        BeforeValidator(_listed, json_schema_input_type=Annotated[str, Field(max_length=1_000)] | StopTexts | None),
    ] = None
    """One text or up to 4; the empty text stops nothing. Plain text ends before the first of them; with a constraint it
    is refused.
    """
    stream: bool | None = None
    """Sends server-sent events."""
    stream_options: StreamOptions | None = None
    """`include_usage` asks for one more chunk with the usage."""
    response_format: ResponseFormat | None = None
    """A constraint, by its `type`."""
    grammar: GrammarText | None = None
    """A constraint: a grammar, in GBNF if it holds `::=`, else in Lark; or `{"name": "sql"}`, a shipped grammar
    (docs/reference/grammars.md) or one that was registered.
    """
    json_schema: Schema | str | None = None
    """A constraint: a JSON Schema (docs/reference/json-schema.md), or its text."""
    swyb: SwybOptions | None = None
    """Our own options."""
    user: str | None = None
    """Names the caller; changes no answer."""
    metadata: dict[str, Any] | None = None
    """Names the call; changes no answer."""
    safety_identifier: str | None = None
    """Names the caller; changes no answer."""
    prompt_cache_key: str | None = None
    """Names a group of calls; changes no answer."""
