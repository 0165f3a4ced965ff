"""Answers of `/v1/responses` and the events of its streams, in OpenAI's shapes."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import ConfigDict, Field

from server.protocol.completion import AnswerModel, Certificate
from server.protocol.verbatim import VerbatimObject

Status: TypeAlias = Literal["in_progress", "completed", "incomplete", "failed"]


class OutputText(AnswerModel):
    type: Literal["output_text"] = "output_text"
    text: str
    annotations: list[None] = Field(default_factory=list)
    logprobs: list[None] = Field(default_factory=list)


class OutputMessage(AnswerModel):
    type: Literal["message"] = "message"
    id: str
    status: Literal["in_progress", "completed", "incomplete"]
    role: Literal["assistant"] = "assistant"
    content: list[OutputText]


class ReasoningText(AnswerModel):
    type: Literal["reasoning_text"] = "reasoning_text"
    text: str


class ReasoningItem(AnswerModel):
    """Thought before the message; nothing sums it up."""

    type: Literal["reasoning"] = "reasoning"
    id: str
    summary: list[None] = Field(default_factory=list)
    content: list[ReasoningText]
    status: Literal["in_progress", "completed"]


class FunctionCallOutput(AnswerModel):
    """Call of a function. `arguments`: the text of a JSON object, which satisfies its `parameters`."""

    type: Literal["function_call"] = "function_call"
    id: str
    call_id: str
    name: str
    arguments: str
    status: Literal["in_progress", "completed"]


class CustomCallOutput(AnswerModel):
    """Call of a custom tool. `input`: a text of the tool's grammar."""

    type: Literal["custom_tool_call"] = "custom_tool_call"
    id: str
    call_id: str
    name: str
    input: str
    status: Literal["in_progress", "completed"]


OutputItem: TypeAlias = ReasoningItem | OutputMessage | FunctionCallOutput | CustomCallOutput


class InputDetails(AnswerModel):
    """No token costs less for having been computed before."""

    cached_tokens: int = 0
    cache_write_tokens: int = 0


class OutputDetails(AnswerModel):
    """Tokens of the thought and of what closed it."""

    reasoning_tokens: int = 0


class ResponseUsage(AnswerModel):
    """`output_tokens` counts an end token too, as the budget does."""

    input_tokens: int
    input_tokens_details: InputDetails = InputDetails()
    output_tokens: int
    output_tokens_details: OutputDetails = OutputDetails()
    total_tokens: int


class IncompleteDetails(AnswerModel):
    reason: Literal["max_output_tokens"] = "max_output_tokens"


class ResponseProblem(AnswerModel):
    """Failure of an answer whose stream had begun. `type` is our own code for it, whose details it has too."""

    model_config = ConfigDict(extra="allow")

    code: Literal["server_error"] = "server_error"
    message: str
    type: str
    request_id: str


class ResponseObject(AnswerModel):
    """An answer. What was not asked for is told as OpenAI tells it: as absent, empty or off."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    status: Status
    background: Literal[False] = False
    error: ResponseProblem | None = None
    incomplete_details: IncompleteDetails | None = None
    instructions: str | None
    max_output_tokens: int | None
    metadata: VerbatimObject
    model: str
    output: list[OutputItem]
    parallel_tool_calls: bool
    previous_response_id: None = None
    store: Literal[False] = False
    temperature: float
    text: VerbatimObject
    tool_choice: str | VerbatimObject
    tools: list[VerbatimObject]
    top_p: float
    truncation: Literal["disabled"] = "disabled"
    usage: ResponseUsage | None = None
    user: str | None
    swyb: Certificate | None = None


class ResponseEvent(AnswerModel):
    """One event of a stream; which fields it has depends on its type."""

    type: Literal[
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
        "response.output_text.delta",
        "response.output_text.done",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.custom_tool_call_input.delta",
        "response.custom_tool_call_input.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
        "response.incomplete",
        "response.failed",
    ]
    sequence_number: int
    response: ResponseObject | None = None
    output_index: int | None = None
    item: OutputItem | None = None
    content_index: int | None = None
    item_id: str | None = None
    part: ReasoningText | OutputText | None = None
    delta: str | None = None
    text: str | None = None
    name: str | None = None
    arguments: str | None = None
    input: str | None = None
    logprobs: list[None] | None = None
