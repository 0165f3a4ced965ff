"""A chat request as it is accepted: every field is honoured, or by its nature changes no answer."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from server.protocol.constraints.fields import ConstraintFields, ConstraintOptions
from server.protocol.messages import ChatMessage
from server.protocol.sampling import SamplingFields
from server.protocol.strict import StrictModel
from server.protocol.thinking.fields import Effort, ThinkingFields, ThinkingOptions
from server.protocol.thinking.wish import Wish, wish_of
from server.protocol.tools.fields import ToolFields

MESSAGES = 4_096
"""Turns of one chat."""


class StreamOptions(StrictModel):
    """`include_usage`: one more chunk before the end, with the usage. Chunks are never padded."""

    include_usage: bool | None = None
    include_obfuscation: Literal[False] | None = None
    continuous_usage_stats: Literal[False] | None = None


class SwybOptions(ConstraintOptions):
    """Our own fields; see `server.decoding.parameters` for what those mean that are not of the constraint."""

    beam_width: int = Field(default=1, ge=1, le=16)
    """Number of prefixes that are kept; the best complete one is returned. See docs/how-to/beams.md."""
    alpha: float | None = Field(default=None, ge=0.0, le=1.0)
    """α: by how much scores of beams shrink the differences between logits (docs/how-to/alpha.md); null means 0.5 for
    beams under a constraint, else 0. Not for drawn answers: set `temperature` to 0, or `beam_width` above 1.
    """
    top_k: int = Field(default=64, ge=1, le=1024)
    """Number of the model's best tokens that a beam looks at."""
    jump_forward: bool | Literal["text"] = True
    """Takes tokens that have no alternative without asking the model. `text` does so with text that has none, cut as
    the tokenizer cuts it, and scores it 0; for beams and greedy answers. Fewer steps, and maybe another answer than
    token by token.
    """
    on_budget: Literal["close", "refuse"] = "close"
    """Fate of an answer that another budget might have changed (`budget_affected`): `close` sends it, `refuse` ends
    with an error that carries it. Then a stream sends no text before that is certain. Not for beams with vLLM.
    """
    trace: bool = False
    """Tells how the search went, step by step: tokens left, distances, the model's best tokens and what became of each
    (docs/how-to/debug.md). For one prompt, and not with vLLM.
    """
    thinking: ThinkingOptions | None = None
    """Options of thoughts (docs/how-to/thinking.md): `reserve`, tokens that a thought leaves to the answer, even if its
    minimum is less; `begin` and `end`, marks of a model whose template tells none, which ask for a thought. For chats.
    """


class AnswerRequest(SamplingFields, ConstraintFields):
    """Fields of every request for an answer, in whichever interface: which model, how tokens are chosen, how many, and
    what they have to be. Subclasses add the prompt, and other interfaces' names of these fields.
    """

    prompt_field: ClassVar[str]
    """Name of the field that holds the prompt."""

    model: str | None = None
    """Name of the served model. Another name is a 404."""
    n: int | None = Field(default=None, ge=1, le=128)
    """Number of answers, each within the budget. Drawn ones have the seeds that follow `seed`; a search returns its
    best texts, no two alike, so `n` is at most `swyb.beam_width`. Texts that its beams missed are found without the
    model; fewer come where the language has no more within the budget. Default 1.
    """
    max_tokens: int | None = Field(default=None, ge=1)
    """Budget T: every token of the answer counts, an end token too. See docs/how-to/budget.md."""
    max_completion_tokens: int | None = Field(default=None, ge=1)
    """Newer name of `max_tokens`; two different numbers are an error."""
    stream: bool | None = None
    """Sends server-sent events."""
    stream_options: StreamOptions | None = None
    """`include_usage` asks for one more chunk with the usage."""
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

    @property
    def told_logprobs(self) -> int | None:
        """Number of likeliest tokens that are told beside each token; None: no log-probabilities are told."""
        return None


class TemplateFields(StrictModel):
    """Fields of requests with turns, for the model's chat template."""

    chat_template_kwargs: dict[str, Any] | None = None
    """Variables of the model's chat template, such as `{"enable_thinking": false}`. One that the template doesn't have
    is refused, unless it is false; so are names that the chat itself goes by.
    """
    enable_thinking: bool | None = None
    """Whether the model thinks before it answers (docs/how-to/thinking.md); variable of that name in the chat template,
    if it has one.
    """
    reasoning_effort: Effort | None = None
    """`none`: the model doesn't think. Others: it does, and the chat template gets the variable of that name, if it has
    one; else the effort is the thought's share of the budget: a tenth (`minimal`), 0.2, 0.5, 0.8, 0.95, all (`max`).
    """
    add_generation_prompt: bool | None = None
    """Opens a new turn of the assistant after the messages. Default true."""
    continue_final_message: bool | None = None
    """Leaves the last message open, and the answer continues it: the answer, which a constraint is about, is the
    continuation alone.
    """


class ChatRequest(AnswerRequest, TemplateFields, ThinkingFields, ToolFields):
    """`POST /v1/chat/completions`, and what other interfaces' chats become. `server.protocol.reading` refuses other
    servers' fields.
    """

    prompt_field = "messages"

    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MESSAGES, fail_fast=True)]
    """Up to 4,096 turns with `role` (`system`, `developer`, `user`, `assistant`, `tool`, `function`) and `content`: a
    string, or a list of up to 4,096 parts of type `text`; see docs/reference/http.md#messages. Nothing adds the schema
    to them: see docs/how-to/prompt.md.
    """
    logprobs: bool | None = None
    """Tells the model's log-probability of every token, and under `swyb` that among the viable ones. For single
    answers; the model is then asked of tokens that have no alternative too.
    """
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    """Tells so many of the model's likeliest tokens beside each; needs `logprobs`."""

    @property
    def told_logprobs(self) -> int | None:
        return (self.top_logprobs or 0) if self.logprobs else None

    @property
    def wish(self) -> Wish:
        """Wish concerning thoughts. Raises ApiError for fields that disagree."""
        options = self.swyb.thinking if self.swyb else None
        return wish_of(self, own_marks=options is not None and (options.begin or options.end) is not None)
