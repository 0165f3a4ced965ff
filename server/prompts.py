"""The prompt of a request in tokens: its messages as the model's chat template renders them, or its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from server.engines.contract import ChatModel, PromptTooLong, Rendering, UnknownVariable
from server.protocol.chat import ChatRequest
from server.protocol.completions.request import CompletionRequest
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.template_variables import template_variables
from server.protocol.tools.template import tools_for_template
from server.protocol.tools.turns import for_template
from server.thinking.opening import Closer, opening_of

COUNTED = 1 << 18
"""Tokens that are counted of a prompt that no model is asked with: more than the windows that clients reckon with."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Tokens of a prompt. `closer`: that of the thought in which it ends, if the model is to think first."""

    tokens: tuple[int, ...]
    closer: Closer | None = None


def prompt_of(request: ChatRequest | CompletionRequest, model: ChatModel, *, counted: bool = False) -> Prompt:
    """Prompt of at least one token less than the context window, unless it is only `counted`: then of up to `COUNTED`,
    or the window. Raises ApiError. Blocks while it tokenises.
    """
    window, field = model.context_window, request.prompt_field
    most = max(COUNTED, window) if counted else window - 1
    try:
        if isinstance(request, ChatRequest):
            return _chat(request, model, most)
        return Prompt(tuple(_continued(request, model, most)))
    except PromptTooLong as error:
        message = f"the prompt has {most + 1} tokens or more; with an answer, the model can take {window}"
        raise ApiError(ErrorCode.CONTEXT_LENGTH_EXCEEDED, message, param=field) from error
    except ValueError as error:
        raise ApiError(ErrorCode.INVALID_VALUE, f"{field}: {error}", param=field) from error


def _chat(request: ChatRequest, model: ChatModel, most: int) -> Prompt:
    opens = _opens_a_turn(request)
    tokens = _encoded(request, model, most, opens_a_turn=opens)
    opening = opening_of(request, model, tokens, opens_a_turn=opens)
    if len(tokens) + len(opening.tokens) > most:
        raise PromptTooLong(f"the chat has more than {most} tokens")
    return Prompt((*tokens, *opening.tokens), opening.closer)


def _encoded(request: ChatRequest, model: ChatModel, most: int, *, opens_a_turn: bool) -> Sequence[int]:
    variables, named = template_variables(request), request.chat_template_kwargs or {}
    known = model.template.variables
    rendering = Rendering(
        # Fields that other models have too mean something without a variable.
        variables={name: value for name, (value, _) in variables.items() if name in named or name in known},
        tools=tools_for_template(request.tools, request.functions),
        generation_prompt=opens_a_turn,
        continue_final=request.continue_final_message or False,
    )
    try:
        return model.encode(for_template(request.messages), most, rendering)
    except UnknownVariable as error:
        field = variables[error.name][1]
        raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, f"{field}: {error}", param=field) from error


def _continued(request: CompletionRequest, model: ChatModel, most: int) -> Sequence[int]:
    if request.swyb is not None and request.swyb.thinking is not None:
        message = "swyb.thinking: thoughts are for chats: leave it out, or ask /v1/chat/completions"
        raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, message, param="swyb.thinking")
    [prompt] = request.prompt
    if isinstance(prompt, str):
        return model.encode_text(prompt, most, special=request.add_special_tokens is not False)
    if len(prompt) > most:
        raise PromptTooLong(f"the prompt has {len(prompt)} tokens")
    size = model.vocabulary.size
    if not all(0 <= token < size for token in prompt):
        raise ValueError(f"the model's tokens have the ids 0 to {size - 1}")
    return prompt


def _opens_a_turn(request: ChatRequest) -> bool:
    if request.continue_final_message and request.add_generation_prompt:
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS,
            "continue_final_message leaves the last turn open, and add_generation_prompt opens another one",
            param="add_generation_prompt",
        )
    return not request.continue_final_message and request.add_generation_prompt is not False
