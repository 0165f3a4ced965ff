"""A request of `/v1/completions` as it is accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, TypeAlias

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from server.protocol.chat import AnswerRequest
from server.protocol.foreign.field import Foreign
from server.protocol.foreign_fields import CALLS, REQUEST, THOUGHTS

PROMPTS = 128
"""Prompts of one request."""

Tokens: TypeAlias = list[int]
Prompt: TypeAlias = str | Tokens
Prompts: TypeAlias = Annotated[list[Prompt], Field(max_length=PROMPTS, fail_fast=True)]

_ASKED: TypeAlias = str | list[int] | list[str] | list[list[int]]


def _prompts(given: object) -> object:
    """One prompt is a list of one. Items are looked at here: the complaints of a union name none of them."""
    if isinstance(given, str) or (isinstance(given, list) and given and all(map(_is_token, given))):
        return [given]
    if not isinstance(given, list) or not given:
        raise PydanticCustomError("prompt", "a prompt is a text, a list of token ids, or a list of such prompts")
    for prompt in given:
        if isinstance(prompt, str) != isinstance(given[0], str) or not _is_prompt(prompt):
            raise PydanticCustomError("prompt", "prompts are texts, or lists of one token id or more, not both")
    return given


def _is_prompt(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and bool(value) and all(map(_is_token, value)))


def _is_token(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class CompletionRequest(AnswerRequest):
    """`POST /v1/completions`. No template is put around a prompt."""

    prompt_field: ClassVar[str] = "prompt"

    prompt: Annotated[Prompts, BeforeValidator(_prompts, json_schema_input_type=_ASKED)]
    """A text, or the ids of its tokens; or up to 128 of either, each of which gets its answers. A text is encoded with
    the marks that the tokenizer puts around one (see `add_special_tokens`).
    """
    add_special_tokens: bool | None = None
    """Whether the tokenizer puts its marks, such as one of the beginning, around a text. Default true."""

    logprobs: int | None = Field(default=None, ge=0, le=20)
    """Tells the model's log-probability of every token, and so many of the likeliest ones beside each; for single
    answers.
    """

    @property
    def told_logprobs(self) -> int | None:
        return self.logprobs

    def singles(self) -> list[CompletionRequest]:
        """Requests of one prompt each."""
        return [self.model_copy(update={"prompt": [prompt]}) for prompt in self.prompt]


_NO_TURNS = "there is no template around a prompt: leave it out, or ask /v1/chat/completions"
FOREIGN: Mapping[str, Foreign] = {
    **CALLS,
    **THOUGHTS,
    "top_logprobs": Foreign((0,), "send logprobs, a number"),
    "add_generation_prompt": Foreign((False,), _NO_TURNS),
    "chat_template_kwargs": Foreign(({},), _NO_TURNS),
    "continue_final_message": Foreign((False,), _NO_TURNS),
    "enable_thinking": Foreign((False,), _NO_TURNS),
    "reasoning_effort": Foreign(("none",), _NO_TURNS),
    **{name: foreign for name, foreign in REQUEST.items() if name not in CompletionRequest.member_names()},
    "messages": Foreign((), "send prompt, or ask /v1/chat/completions"),
    "suffix": Foreign(("",), "an answer only goes on behind its prompt: leave it out"),
}
"""Fields of other servers."""
