"""Fields of other servers, and of OpenAI's interface, that this server does not implement.

A client that sends one means something by it, so it is never ignored: it is refused by name, unless its value
asks for what happens anyway. Fields that nobody is known to have are refused as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from server.protocol.errors import ApiError, ErrorCode

Neutral = Sequence[object]
"""The values of a field that change nothing; null is always one of them."""

_NEVER: Neutral = ()
_OFF: Neutral = (False,)
_EITHER: Neutral = (False, True)
_ZERO: Neutral = (0,)
_ONE: Neutral = (1,)
_EMPTY_LIST: Neutral = ([],)
_EMPTY_OBJECT: Neutral = ({},)

_OPENAI: Mapping[str, Neutral] = {
    "audio": _NEVER,
    "frequency_penalty": _ZERO,
    "function_call": ("none", "auto"),
    "functions": _EMPTY_LIST,
    "logit_bias": _EMPTY_OBJECT,
    "logprobs": _OFF,
    "modalities": (["text"],),
    "moderation": _NEVER,
    "parallel_tool_calls": _EITHER,
    "prediction": _NEVER,
    "presence_penalty": _ZERO,
    "prompt_cache_options": _NEVER,
    "prompt_cache_retention": _NEVER,
    "reasoning": _NEVER,
    "reasoning_effort": ("none",),
    "service_tier": ("auto", "default"),
    "store": _OFF,
    "text": _NEVER,
    "tool_choice": ("none", "auto"),
    "tools": _EMPTY_LIST,
    "top_logprobs": _ZERO,
    "verbosity": ("medium",),
    "web_search_options": _NEVER,
}

_CONSTRAINTS_OF_OTHERS: Mapping[str, Neutral] = {
    "choice": _NEVER,
    "ebnf": _NEVER,
    "grammar_lazy": _OFF,
    "grammar_triggers": _EMPTY_LIST,
    "guided_choice": _NEVER,
    "guided_decoding_backend": _NEVER,
    "guided_grammar": _NEVER,
    "guided_json": _NEVER,
    "guided_json_object": _OFF,
    "guided_regex": _NEVER,
    "guided_whitespace_pattern": _NEVER,
    "json_object": _OFF,
    "lark": _NEVER,
    "regex": _NEVER,
    "structural_tag": _NEVER,
    "structured_outputs": _NEVER,
    "structured_outputs_backend": _NEVER,
}

_OTHER_SERVERS: Mapping[str, Neutral] = {
    "add_generation_prompt": (True,),
    "add_special_tokens": _OFF,
    "allowed_token_ids": _NEVER,
    "bad_words": _EMPTY_LIST,
    "best_of": _ONE,
    "cache_prompt": _EITHER,
    "chat_template": _NEVER,
    "chat_template_args": _EMPTY_OBJECT,
    "chat_template_kwargs": _EMPTY_OBJECT,
    "continue_final_message": _OFF,
    "custom_logit_processor": _NEVER,
    "documents": _EMPTY_LIST,
    "dry_multiplier": _ZERO,
    "dynatemp_range": _ZERO,
    "echo": _OFF,
    "enable_thinking": _OFF,
    "id_slot": (-1,),
    "ignore_eos": _OFF,
    "include_reasoning": _EITHER,
    "include_stop_str_in_output": _OFF,
    "kv_transfer_params": _NEVER,
    "length_penalty": _ONE,
    "logits_processors": _NEVER,
    "lora_path": _NEVER,
    "mediaio_kwargs": _EMPTY_OBJECT,
    "min_p": _ZERO,
    "min_tokens": _ZERO,
    "mirostat": _ZERO,
    "mm_processor_kwargs": _EMPTY_OBJECT,
    "n_keep": _ZERO,
    "n_predict": _NEVER,
    "n_probs": _ZERO,
    "priority": _ZERO,
    "prompt": _NEVER,
    "prompt_logprobs": _NEVER,
    "reasoning_format": _NEVER,
    "repeat_penalty": _ONE,
    "repetition_penalty": _ONE,
    "request_id": _NEVER,
    "return_tokens_as_token_ids": _OFF,
    "return_token_ids": _OFF,
    "samplers": _NEVER,
    "separate_reasoning": _EITHER,
    "skip_special_tokens": (True,),
    "spaces_between_special_tokens": _EITHER,
    "stop_regex": _NEVER,
    "stop_token_ids": _EMPTY_LIST,
    "structural_tags": _EMPTY_LIST,
    "thinking": _NEVER,
    "thinking_budget": _NEVER,
    "timings_per_token": _OFF,
    "truncate_prompt_tokens": _NEVER,
    "typical_p": _ONE,
    "use_beam_search": _OFF,
    "vllm_xargs": _EMPTY_OBJECT,
    "xtc_probability": _ZERO,
}

REQUEST: Mapping[str, Neutral] = {**_OPENAI, **_CONSTRAINTS_OF_OTHERS, **_OTHER_SERVERS}
"""Of a chat request."""

MESSAGE: Mapping[str, Neutral] = {
    "annotations": _EMPTY_LIST,
    "audio": _NEVER,
    "function_call": _NEVER,
    "name": _NEVER,
    "reasoning": _NEVER,
    "reasoning_content": _NEVER,
    "refusal": _NEVER,
    "tool_call_id": _NEVER,
    "tool_calls": _EMPTY_LIST,
}
"""Of one message of a chat: what clients send back of an answer they got."""


def without_neutral(
    given: Mapping[str, object], known: frozenset[str], foreign: Mapping[str, Neutral], path: str = ""
) -> dict[str, object]:
    """The fields that are ours. Raises ApiError at a foreign one that asks for a thing, or an unknown one."""
    kept: dict[str, object] = {}
    for name, value in given.items():
        if name in known:
            kept[name] = value
        elif name not in foreign:
            raise ApiError(ErrorCode.UNKNOWN_PARAMETER, f"unknown field: {path}{name}", param=path + name)
        elif value is not None and not _is_neutral(value, foreign[name]):
            raise ApiError(
                ErrorCode.UNSUPPORTED_PARAMETER,
                f"{path}{name} is not supported with this value, and no field is ever ignored",
                param=path + name,
            )
    return kept


def _is_neutral(value: object, neutral: Neutral) -> bool:
    # True == 1 in Python: a number where a boolean is meant, or the reverse, is a mistake to be told.
    return any(value == other and isinstance(value, bool) == isinstance(other, bool) for other in neutral)
