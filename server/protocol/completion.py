"""Completions that answer a chat request: OpenAI's shapes, and the certificate that goes with every answer."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from server.decoding.answer import FinishReason, Interruption
from server.decoding.tracing.steps import TraceStep

ChatEnd: TypeAlias = FinishReason | Literal["tool_calls", "function_call"]
"""Reason for which an answer ends: calls of tools, or of one of `functions`, are told apart from texts."""


class AnswerModel(BaseModel):
    """Values are ours, so nothing has to be checked; only fields that were set are sent."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class CompletionDetails(AnswerModel):
    """Parts of `completion_tokens`: `reasoning_tokens` are those of thoughts and of what closed them."""

    reasoning_tokens: int


class Usage(AnswerModel):
    """`completion_tokens` counts thoughts and an end token too, as the budget does."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    completion_tokens_details: CompletionDetails | None = Field(default=None, exclude_if=lambda known: known is None)


class ThinkingCertificate(AnswerModel):
    """Certificate of the thought before an answer."""

    tokens: int
    """Tokens of the thought and of what closed it; `tokens_used` counts them."""
    closed_by_budget: bool
    """Whether the budget, or a bound that the request named, ended the thought; else the model did."""
    reserve: int
    """Tokens that the thought had to leave to the answer."""


class Certificate(AnswerModel):
    """Certificate of an answer: what was guaranteed, and what it took."""

    complete: bool | None
    """Whether the answer belongs to the constraint's language. Without a constraint: whether the model ended by itself.
    Null for a text beside `tools` that the budget cut: only calls are certified.
    """
    budget: int
    """Budget T."""
    tokens_used: int
    """Number of the answer's tokens, its thought's and an end token included; never above `budget`."""
    min_tokens: int | None
    """Fewest tokens of any complete answer; null without a constraint, as are the other fields about the grammar."""
    exact: bool | None
    """Whether `min_tokens` can't be lowered; if false, it is an upper bound."""
    budget_forced_tokens: int | None
    """Number of tokens that the budget chose; null for single answers in vLLM, which tell `tight_steps`. In a single
    answer: where the same draw would have been another one
    without a budget, or the budget left only one; in a search: where it kept out a likelier one of the model's best
    `swyb.top_k`.
    """
    tight_steps: int | None
    """Number of tokens before which the budget kept out something that the constraint allows. Told of single answers in
    vLLM, whose sampler draws within masks; null elsewhere.
    """
    budget_affected: bool | None
    """Whether the budget changed the answer, or may have. False promises the text that the same request gives without
    a budget. Null for answers that were interrupted, and for vLLM's beams. See docs/explain/budget.md.
    """
    budget_ended: list[str] | None
    """JSON Pointers of the strings, numbers, arrays and objects that the budget ended where they might have gone on;
    null where `budget_affected` is, and where the constraint is no JSON Schema.
    """
    interrupted: Interruption | None
    """Reason why the server ended the answer before its time, else null: `shutdown`
    (docs/how-to/deploy.md#how-a-server-ends),
    `failure` (of a step, or of the engine), or `configurations` (the grammar's table was full). Under a constraint the
    shortest completion that is known was appended, and `complete` is true; without one the text is cut (`length`). A
    step that fails in vLLM's workers isn't told.
    """
    beam_width: int
    """Beam width, as used."""
    alpha: float
    """α_min, as used."""
    grammar_id: str | None
    """Hash of the constraint, the tokenizer and the algorithm's version."""
    table: str | None
    """Name of the table computed offline whose distances were used (docs/explain/store.md#tables-computed-offline);
    null without one.
    """
    distance_version: str
    """Version of the algorithm."""
    compile_ms: float | None
    """Milliseconds that compiling took, when that was, or loading from the store."""
    cache: Literal["hit", "miss", "shared"] | None
    """`hit`: the grammar was there; `shared`: it was in the store (docs/explain/store.md), compiled before by this
    server or another one; `miss`: it was compiled for this request.
    """
    thinking: ThinkingCertificate | None
    """Thought before the answer: its `tokens`, whether it was `closed_by_budget` rather than by the model, and the
    `reserve` of tokens that it had to leave to the answer; null where the model didn't think.
    """
    ignored: list[str]
    """Parts of the constraint that are not enforced: annotations, and what `lenient` dropped. With `swyb serve
    --unknown-fields report` also fields of the request that nobody is known to have.
    """
    trace: list[TraceStep] | None = Field(default=None, exclude_if=lambda known: known is None)
    """Steps of the search, if `swyb.trace` asked for them (docs/how-to/debug.md): up to 1 MiB for all answers together,
    the last one `truncated` where that is too little. A stream's chunks carry those since the chunk before. A search
    for several answers tells them with the first one.
    """


class TraceNews(AnswerModel):
    """Steps of the search since the chunk before."""

    trace: list[TraceStep]


class FunctionCall(AnswerModel):
    """`arguments`: the text of a JSON object, which satisfies the function's `parameters`."""

    name: str
    arguments: str


class CustomCall(AnswerModel):
    """`input`: a text of the tool's grammar."""

    name: str
    input: str


class MessageToolCall(AnswerModel):
    """Call of a tool, in the member that its type names."""

    id: str
    type: Literal["function", "custom"]
    function: FunctionCall | None = Field(default=None, exclude_if=lambda called: called is None)
    custom: CustomCall | None = Field(default=None, exclude_if=lambda called: called is None)


class AssistantMessage(AnswerModel):
    """`content`: null where there are only calls. `function_call`: sent to clients that speak of `functions`.

    `reasoning_content` is the thought, if there was one; `reasoning` is vLLM's newer name of it.
    """

    role: Literal["assistant"] = "assistant"
    content: str | None
    refusal: None = None
    reasoning_content: str | None = Field(default=None, exclude_if=lambda known: known is None)
    reasoning: str | None = Field(default=None, exclude_if=lambda known: known is None)
    tool_calls: list[MessageToolCall] | None = Field(default=None, exclude_if=lambda calls: calls is None)
    function_call: FunctionCall | None = Field(default=None, exclude_if=lambda called: called is None)


class Likelihood(AnswerModel):
    """A token by its text, broken code points replaced, its bytes, and the model's log-probability, -9999 at least."""

    token: str
    logprob: float
    bytes: list[int]


class Viability(AnswerModel):
    """`logprob`: the logarithm of the token's share among those that grammar and budget allowed there. `forced`: see
    `budget_forced_tokens`; null where that is.
    """

    logprob: float
    forced: bool | None


class TokenLikelihood(Likelihood):
    """A token of the answer, and the model's likeliest ones in its place."""

    top_logprobs: list[Likelihood]
    swyb: Viability


class ChoiceLogprobs(AnswerModel):
    """Tokens that the model didn't choose, because the answer was interrupted, are left out."""

    content: list[TokenLikelihood]
    refusal: None = None


class Choice(AnswerModel):
    """`swyb` is sent where there are several."""

    index: int
    message: AssistantMessage
    logprobs: ChoiceLogprobs | None = None
    finish_reason: ChatEnd
    swyb: Certificate | None = Field(default=None, exclude_if=lambda known: known is None)


class ChatCompletion(AnswerModel):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    system_fingerprint: str
    choices: list[Choice]
    usage: Usage
    swyb: Certificate


class CallDelta(AnswerModel):
    """Further part of a call: its name first, then what it gives in pieces, `arguments` or `input`."""

    name: str | None = None
    arguments: str | None = None
    input: str | None = None


class ToolCallDelta(AnswerModel):
    """Further part of call `index`; id and type come with its first piece."""

    index: int
    id: str | None = None
    type: Literal["function", "custom"] | None = None
    function: CallDelta | None = None
    custom: CallDelta | None = None


class Delta(AnswerModel):
    """Unset fields are not sent."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    refusal: None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[ToolCallDelta] | None = None
    function_call: CallDelta | None = None


class ChunkChoice(AnswerModel):
    index: int
    delta: Delta
    logprobs: ChoiceLogprobs | None
    finish_reason: ChatEnd | None


class ChatChunk(AnswerModel):
    """One event of a stream. `usage` is sent only if asked for, and null but for the last chunk."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    system_fingerprint: str
    choices: list[ChunkChoice]
    usage: Usage | None = None
    swyb: Certificate | TraceNews | None = None
