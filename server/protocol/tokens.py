"""`/tokenize` and `/detokenize`: what is asked and answered, in vLLM's shapes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from server.protocol.chat import MESSAGES, TemplateFields
from server.protocol.completion import AnswerModel
from server.protocol.messages import ChatMessage
from server.protocol.strict import StrictModel
from server.protocol.tools.definitions import TOOLS, Tool


class TokenizeRequest(TemplateFields):
    """`POST /tokenize`: a `prompt` as for `/v1/completions`, or `messages` as for `/v1/chat/completions`."""

    model: str | None = None
    """Name of the served model. Another name is a 404."""
    prompt: str | None = None
    """A text."""
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MESSAGES, fail_fast=True)] | None = None
    """A chat."""
    tools: Annotated[list[Tool], Field(max_length=TOOLS, fail_fast=True)] | None = None
    """Tools that the chat template shows."""
    add_special_tokens: bool | None = None
    """Whether the tokenizer puts its marks around a text. Default true; with messages, false is the only value."""
    return_token_strs: bool | None = None
    """Tells the tokens' texts as well."""


class Tokenized(AnswerModel):
    """`max_model_len`: tokens of prompt and answer together."""

    count: int
    max_model_len: int
    tokens: list[int]
    token_strs: list[str] | None


class DetokenizeRequest(StrictModel):
    """`POST /detokenize`."""

    model: str | None = None
    """Name of the served model. Another name is a 404."""
    tokens: list[int]
    """Ids of the model's tokens."""


class Detokenized(AnswerModel):
    """Bytes that are no UTF-8 are replaced; tokens that are not text are told by their names."""

    prompt: str
