"""Fields of other servers, and of OpenAI's interface, that this server does not implement.

A client that sends one means something by it, so it is never ignored: it is refused by name, unless its value
asks for what happens anyway. Fields that nobody is known to have are refused as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

from server.protocol.foreign.engines import ENGINES, SAMPLING
from server.protocol.foreign.field import EITHER, EMPTY_LIST, EMPTY_OBJECT, NEVER, OFF, ONE, ZERO, Foreign, Neutral

_BACKENDS: Neutral = ("auto", "guidance", "lm-format-enforcer", "outlines", "xgrammar")

_SCHEMA_FORMAT = 'send response_format {"type": "json_schema", "json_schema": {"name": "answer", "schema": {...}}}'
_OBJECT = 'send response_format {"type": "json_object"}'
_CHOICE = 'send response_format {"type": "choice", "choice": ["...", "..."]}'
_GRAMMAR = 'send grammar "...", or response_format {"type": "grammar", "grammar": "...", "syntax": "gbnf"} or "lark"'
_WHOLE = (
    'a constraint is about the whole answer: send response_format {"type": "structural_tag", "format": {...}}, '
    "which tells free text from tags"
)
_BACKEND = "constraints are enforced by this server itself: leave it out"
_ENFORCE = "what may be answered is said by response_format, grammar or json_schema"
_STOP = 'send stop ["..."] with plain text, or end the answer by a constraint'
_LOGPROBS = "log-probabilities are told of answers alone: leave it out"
_ASK_A_CHAT = (
    f"tools are called in chats: ask /v1/chat/completions; or {_SCHEMA_FORMAT}, with the schema of the arguments"
)

_APART = "thoughts are told apart from the answer, as reasoning_content: leave it out"
_CACHED = "prompts that begin alike are cached anyway: leave it out"

_OPENAI: Mapping[str, Foreign] = {
    "audio": Foreign(NEVER, "answers are text: leave it out"),
    "modalities": Foreign((["text"],), 'answers are text: leave it out or send ["text"]'),
    "moderation": Foreign(NEVER),
    "prediction": Foreign(NEVER, "text that has no alternative is skipped anyway (swyb.jump_forward): leave it out"),
    "prompt_cache_options": Foreign(NEVER, _CACHED, ("object",)),
    "prompt_cache_retention": Foreign(NEVER, _CACHED, ("string",)),
    "service_tier": Foreign(NEVER, "there is one tier: leave it out", ("string",)),
    "store": Foreign(EITHER, "answers are not kept: leave it out"),
    "text": Foreign(NEVER, _SCHEMA_FORMAT),
    "verbosity": Foreign(("medium",), "send max_tokens, and ask for it in a message"),
    "web_search_options": Foreign(NEVER, "put what the model should know into messages"),
}

CONSTRAINTS_OF_OTHERS: Mapping[str, Foreign] = {
    "choice": Foreign(NEVER, _CHOICE),
    "grammar_lazy": Foreign(OFF, _WHOLE),
    "grammar_triggers": Foreign(EMPTY_LIST, _WHOLE),
    "guided_decoding_backend": Foreign(_BACKENDS, _BACKEND),
    "json_object": Foreign(OFF, _OBJECT),
    "lark": Foreign(NEVER, _GRAMMAR),
    "structured_outputs_backend": Foreign(_BACKENDS, _BACKEND),
}

_OTHER_SERVERS: Mapping[str, Foreign] = {
    "add_special_tokens": Foreign(OFF),
    "allowed_token_ids": Foreign(NEVER, _ENFORCE),
    "bad_words": Foreign(EMPTY_LIST, _ENFORCE),
    "best_of": Foreign(ONE, 'send n, and swyb {"beam_width": 4} for the best of several beams'),
    "cache_prompt": Foreign(EITHER),
    "chat_template": Foreign(NEVER, "the model's own template is used: leave it out"),
    "cache_control": Foreign(NEVER, _CACHED, ("object",)),
    "chat_template_args": Foreign(EMPTY_OBJECT, "send chat_template_kwargs"),
    "custom_logit_processor": Foreign(NEVER, _ENFORCE),
    "documents": Foreign(EMPTY_LIST, "put them into messages"),
    "dry_multiplier": Foreign(ZERO, SAMPLING),
    "dynatemp_range": Foreign(ZERO, SAMPLING),
    "echo": Foreign(OFF, "the prompt is not repeated: leave it out"),
    "id_slot": Foreign((-1,), "there are no slots to choose: leave it out"),
    "include_stop_str_in_output": Foreign(OFF),
    "kv_transfer_params": Foreign(EMPTY_OBJECT, "prompts are computed here: leave it out"),
    "length_penalty": Foreign(ONE, "beams are ranked by their scores as they are: leave it out"),
    "logits_processors": Foreign(EMPTY_LIST, _ENFORCE),
    "lora_path": Foreign(NEVER, "one model is served: leave it out"),
    "mediaio_kwargs": Foreign(EMPTY_OBJECT),
    "mirostat": Foreign(ZERO, SAMPLING),
    "mm_processor_kwargs": Foreign(EMPTY_OBJECT),
    "n_keep": Foreign(NEVER, "messages are never cut: leave it out", ("number",)),
    "n_probs": Foreign(ZERO, "send logprobs: true, and top_logprobs"),
    "priority": Foreign(ZERO, "requests are served as they come: leave it out"),
    "prompt": Foreign(NEVER, 'send messages [{"role": "user", "content": "..."}]'),
    "prompt_logprobs": Foreign(NEVER, _LOGPROBS),
    "reasoning_format": Foreign(("auto", "deepseek"), _APART),
    "request_id": Foreign(NEVER, "requests get their ids here: leave it out, or send metadata"),
    "return_tokens_as_token_ids": Foreign(OFF),
    "return_token_ids": Foreign(OFF),
    "samplers": Foreign(NEVER, SAMPLING),
    "separate_reasoning": Foreign((True,), _APART),
    "skip_special_tokens": Foreign((True,)),
    "spaces_between_special_tokens": Foreign(EITHER),
    "stop_regex": Foreign(NEVER, _STOP),
    "structural_tags": Foreign(EMPTY_LIST, _WHOLE),
    "timings_per_token": Foreign(OFF),
    "truncate_prompt_tokens": Foreign(NEVER, "messages are never cut: send fewer"),
    "typical_p": Foreign(ONE, SAMPLING),
    "use_beam_search": Foreign(OFF, 'send swyb {"beam_width": 4}'),
    "vllm_xargs": Foreign(EMPTY_OBJECT),
    "xtc_probability": Foreign(ZERO, SAMPLING),
}

REQUEST: Mapping[str, Foreign] = {**_OPENAI, **CONSTRAINTS_OF_OTHERS, **_OTHER_SERVERS, **ENGINES}
"""Foreign fields of a chat request."""

STRUCTURED_OUTPUTS: Mapping[str, Foreign] = {
    "disable_additional_properties": Foreign(OFF, 'put "additionalProperties": false into the schema'),
    "disable_fallback": Foreign(EITHER, _BACKEND),
}
"""Foreign members of `structured_outputs`."""

MESSAGE: Mapping[str, Foreign] = {
    "annotations": Foreign(EMPTY_LIST),
    "audio": Foreign(NEVER, "messages are text: leave it out"),
    "cache_control": Foreign(NEVER, _CACHED, ("object",)),
    "images": Foreign(EMPTY_LIST, "messages are text: leave it out"),
    "parsed": Foreign(NEVER, "leave it out", ("object", "array", "string", "number", "boolean")),
    "prefix": Foreign(OFF, "send continue_final_message"),
    "tool_name": Foreign(NEVER, "send name"),
}
"""Foreign fields of one message of a chat: what clients send back of an answer they got."""

CALLS: Mapping[str, Foreign] = {
    "function_call": Foreign(("none", "auto"), _ASK_A_CHAT),
    "functions": Foreign(EMPTY_LIST, _ASK_A_CHAT),
    "parallel_tool_calls": Foreign(EITHER, _ASK_A_CHAT),
    "tool_choice": Foreign(("none", "auto"), _ASK_A_CHAT),
    "tools": Foreign(EMPTY_LIST, _ASK_A_CHAT),
}
"""Fields that ask for calls of tools, where there is no place for them."""

LOGPROBS: Mapping[str, Foreign] = {
    "logprobs": Foreign(OFF, "log-probabilities are told of chats and completions: leave it out"),
    "top_logprobs": Foreign(ZERO, "log-probabilities are told of chats and completions: leave it out"),
}
"""Fields that ask for log-probabilities, where there is no place for them."""

_NO_TURN = "thoughts are for chats: leave it out, or ask /v1/chat/completions"
THOUGHTS: Mapping[str, Foreign] = {
    "include_reasoning": Foreign(EITHER),
    "reasoning": Foreign((*EMPTY_OBJECT, {"effort": "none"}), _NO_TURN),
    "reasoning_budget": Foreign((-1, 0), _NO_TURN),
    "reasoning_budget_tokens": Foreign((-1, 0), _NO_TURN),
    "think": Foreign(OFF, _NO_TURN),
    "thinking": Foreign(({"type": "disabled"},), _NO_TURN),
    "thinking_budget": Foreign(ZERO, _NO_TURN),
    "thinking_token_budget": Foreign((-1, 0), _NO_TURN),
}
"""Fields that ask for thoughts, where there is no turn to think in."""
