"""Variables of the chat template that a request sets, never those that the chat itself goes by (CVE-2025-61620)."""

from __future__ import annotations

from server.engines.thought_marks import SWITCHES
from server.protocol.chat import ChatRequest
from server.protocol.errors import ApiError, ErrorCode

_RESERVED = frozenset(
    {
        *("messages", "tools", "documents", "conversation", "add_generation_prompt", "continue_final_message"),
        *("chat_template", "tokenize", "tokenizer_kwargs", "template_kwargs", "sanitize_control_tokens", "self"),
        *("padding", "truncation", "max_length", "return_tensors", "return_dict", "return_assistant_tokens_mask"),
        *("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"),
        *("additional_special_tokens", "extra_special_tokens", "audio_token", "image_token", "video_token"),
        *("raise_exception", "strftime_now", "namespace", "range", "dict", "lipsum", "cycler", "joiner", "loop"),
        *("true", "false", "none", "True", "False", "None", "caller", "varargs", "kwargs"),
    }
)
"""Names that templates, or the function that renders them, know by themselves."""


def template_variables(request: ChatRequest) -> dict[str, tuple[object, str]]:
    """Variables by name: the value and the field that it came from. Templates need only have those that the request
    sets by their names, in `chat_template_kwargs`. Raises ApiError for names that aren't to be set.
    """
    found: dict[str, tuple[object, str]] = {}
    for name, value in (request.chat_template_kwargs or {}).items():
        field = f"chat_template_kwargs.{name[:100]}"
        if name in _RESERVED or not name.isidentifier():
            message = f"{field} is not supported: the chat goes by that name itself, leave it out"
            raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, message, param=field)
        if value is not None:
            found[name] = value, field
    wish = request.wish
    if wish.wanted is not None:
        for name in SWITCHES:
            found.setdefault(name, (wish.wanted, wish.field))
    if wish.effort not in (None, "none"):
        _add(found, "reasoning_effort", wish.effort, wish.field)
    return found


def _add(found: dict[str, tuple[object, str]], name: str, value: object, field: str) -> None:
    if name in found and found[name][0] != value:
        message = f"{found[name][1]} and {field} say different things of {name}"
        raise ApiError(ErrorCode.CONFLICTING_PARAMETERS, message, param=field)
    found.setdefault(name, (value, field))
