"""Fields of other servers, and of OpenAI's interface, that this server does not implement.

A client that sends one means something by it, so it is never ignored: it is refused by name, unless its value
asks for what happens anyway. Fields that nobody is known to have are refused as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

from server.protocol.foreign.engines import ENGINES
from server.protocol.foreign.field import EITHER as _EITHER
from server.protocol.foreign.field import EMPTY_LIST as _EMPTY_LIST
from server.protocol.foreign.field import EMPTY_OBJECT as _EMPTY_OBJECT
from server.protocol.foreign.field import NEVER as _NEVER
from server.protocol.foreign.field import OFF as _OFF
from server.protocol.foreign.field import ONE as _ONE
from server.protocol.foreign.field import ZERO as _ZERO
from server.protocol.foreign.field import Foreign, Neutral

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
_SAMPLING = "what is drawn is said by temperature, top_p, top_k, min_p, penalties and seed: leave it out"
_STOP = 'send stop ["..."] with plain text, or end the answer by a constraint'
_LOGPROBS = "log-probabilities are told of answers alone: leave it out"
_ASK_A_CHAT = (
    f"tools are called in chats: ask /v1/chat/completions; or {_SCHEMA_FORMAT}, with the schema of the arguments"
)

_APART = "thoughts are told apart from the answer, as reasoning_content: leave it out"
_CACHED = "prompts that begin alike are cached anyway: leave it out"

_OPENAI: Mapping[str, Foreign] = {
    "audio": Foreign(_NEVER, "answers are text: leave it out"),
    "modalities": Foreign((["text"],), 'answers are text: leave it out or send ["text"]'),
    "moderation": Foreign(_NEVER),
    "prediction": Foreign(_NEVER, "text that has no alternative is skipped anyway (swyb.jump_forward): leave it out"),
    "prompt_cache_options": Foreign(_NEVER, _CACHED, ("object",)),
    "prompt_cache_retention": Foreign(_NEVER, _CACHED, ("string",)),
    "service_tier": Foreign(_NEVER, "there is one tier: leave it out", ("string",)),
    "store": Foreign(_EITHER, "answers are not kept: leave it out"),
    "text": Foreign(_NEVER, _SCHEMA_FORMAT),
    "verbosity": Foreign(("medium",), "send max_tokens, and ask for it in a message"),
    "web_search_options": Foreign(_NEVER, "put what the model should know into messages"),
}

CONSTRAINTS_OF_OTHERS: Mapping[str, Foreign] = {
    "choice": Foreign(_NEVER, _CHOICE),
    "grammar_lazy": Foreign(_OFF, _WHOLE),
    "grammar_triggers": Foreign(_EMPTY_LIST, _WHOLE),
    "guided_decoding_backend": Foreign(_BACKENDS, _BACKEND),
    "json_object": Foreign(_OFF, _OBJECT),
    "lark": Foreign(_NEVER, _GRAMMAR),
    "structured_outputs_backend": Foreign(_BACKENDS, _BACKEND),
}

_OTHER_SERVERS: Mapping[str, Foreign] = {
    "add_special_tokens": Foreign(_OFF),
    "allowed_token_ids": Foreign(_NEVER, _ENFORCE),
    "bad_words": Foreign(_EMPTY_LIST, _ENFORCE),
    "best_of": Foreign(_ONE, 'send n, and swyb {"beam_width": 4} for the best of several beams'),
    "cache_prompt": Foreign(_EITHER),
    "chat_template": Foreign(_NEVER, "the model's own template is used: leave it out"),
    "cache_control": Foreign(_NEVER, _CACHED, ("object",)),
    "chat_template_args": Foreign(_EMPTY_OBJECT, "send chat_template_kwargs"),
    "custom_logit_processor": Foreign(_NEVER, _ENFORCE),
    "documents": Foreign(_EMPTY_LIST, "put them into messages"),
    "dry_multiplier": Foreign(_ZERO, _SAMPLING),
    "dynatemp_range": Foreign(_ZERO, _SAMPLING),
    "echo": Foreign(_OFF, "the prompt is not repeated: leave it out"),
    "id_slot": Foreign((-1,), "there are no slots to choose: leave it out"),
    "include_stop_str_in_output": Foreign(_OFF),
    "kv_transfer_params": Foreign(_EMPTY_OBJECT, "prompts are computed here: leave it out"),
    "length_penalty": Foreign(_ONE, "beams are ranked by their scores as they are: leave it out"),
    "logits_processors": Foreign(_EMPTY_LIST, _ENFORCE),
    "lora_path": Foreign(_NEVER, "one model is served: leave it out"),
    "mediaio_kwargs": Foreign(_EMPTY_OBJECT),
    "mirostat": Foreign(_ZERO, _SAMPLING),
    "mm_processor_kwargs": Foreign(_EMPTY_OBJECT),
    "n_keep": Foreign(_NEVER, "messages are never cut: leave it out", ("number",)),
    "n_probs": Foreign(_ZERO, "send logprobs: true, and top_logprobs"),
    "priority": Foreign(_ZERO, "requests are served as they come: leave it out"),
    "prompt": Foreign(_NEVER, 'send messages [{"role": "user", "content": "..."}]'),
    "prompt_logprobs": Foreign(_NEVER, _LOGPROBS),
    "reasoning_format": Foreign(("auto", "deepseek"), _APART),
    "request_id": Foreign(_NEVER, "requests get their ids here: leave it out, or send metadata"),
    "return_tokens_as_token_ids": Foreign(_OFF),
    "return_token_ids": Foreign(_OFF),
    "samplers": Foreign(_NEVER, _SAMPLING),
    "separate_reasoning": Foreign((True,), _APART),
    "skip_special_tokens": Foreign((True,)),
    "spaces_between_special_tokens": Foreign(_EITHER),
    "stop_regex": Foreign(_NEVER, _STOP),
    "structural_tags": Foreign(_EMPTY_LIST, _WHOLE),
    "timings_per_token": Foreign(_OFF),
    "truncate_prompt_tokens": Foreign(_NEVER, "messages are never cut: send fewer"),
    "typical_p": Foreign(_ONE, _SAMPLING),
    "use_beam_search": Foreign(_OFF, 'send swyb {"beam_width": 4}'),
    "vllm_xargs": Foreign(_EMPTY_OBJECT),
    "xtc_probability": Foreign(_ZERO, _SAMPLING),
}

REQUEST: Mapping[str, Foreign] = {**_OPENAI, **CONSTRAINTS_OF_OTHERS, **_OTHER_SERVERS, **ENGINES}
"""Foreign fields of a chat request."""

STRUCTURED_OUTPUTS: Mapping[str, Foreign] = {
    "disable_additional_properties": Foreign(_OFF, 'put "additionalProperties": false into the schema'),
    "disable_fallback": Foreign(_EITHER, _BACKEND),
}
"""Foreign members of `structured_outputs`."""

MESSAGE: Mapping[str, Foreign] = {
    "annotations": Foreign(_EMPTY_LIST),
    "audio": Foreign(_NEVER, "messages are text: leave it out"),
    "cache_control": Foreign(_NEVER, _CACHED, ("object",)),
    "images": Foreign(_EMPTY_LIST, "messages are text: leave it out"),
    "parsed": Foreign(_NEVER, "leave it out", ("object", "array", "string", "number", "boolean")),
    "prefix": Foreign(_OFF, "send continue_final_message"),
    "tool_name": Foreign(_NEVER, "send name"),
}
"""Foreign fields of one message of a chat: what clients send back of an answer they got."""

CALLS: Mapping[str, Foreign] = {
    "function_call": Foreign(("none", "auto"), _ASK_A_CHAT),
    "functions": Foreign(_EMPTY_LIST, _ASK_A_CHAT),
    "parallel_tool_calls": Foreign(_EITHER, _ASK_A_CHAT),
    "tool_choice": Foreign(("none", "auto"), _ASK_A_CHAT),
    "tools": Foreign(_EMPTY_LIST, _ASK_A_CHAT),
}
"""Fields that ask for calls of tools, where there is no place for them."""

LOGPROBS: Mapping[str, Foreign] = {
    "logprobs": Foreign(_OFF, "log-probabilities are told of chats and completions: leave it out"),
    "top_logprobs": Foreign(_ZERO, "log-probabilities are told of chats and completions: leave it out"),
}
"""Fields that ask for log-probabilities, where there is no place for them."""

_NO_TURN = "thoughts are for chats: leave it out, or ask /v1/chat/completions"
THOUGHTS: Mapping[str, Foreign] = {
    "include_reasoning": Foreign(_EITHER),
    "reasoning": Foreign((*_EMPTY_OBJECT, {"effort": "none"}), _NO_TURN),
    "reasoning_budget": Foreign((-1, 0), _NO_TURN),
    "reasoning_budget_tokens": Foreign((-1, 0), _NO_TURN),
    "think": Foreign(_OFF, _NO_TURN),
    "thinking": Foreign(({"type": "disabled"},), _NO_TURN),
    "thinking_budget": Foreign(_ZERO, _NO_TURN),
    "thinking_token_budget": Foreign((-1, 0), _NO_TURN),
}
"""Fields that ask for thoughts, where there is no turn to think in."""
