"""Fields of other servers, and of OpenAI's interface, that this server does not implement.

A client that sends one means something by it, so it is never ignored: it is refused by name, unless its value
asks for what happens anyway. Fields that nobody is known to have are refused as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Neutral = Sequence[object]
"""The values of a field that change nothing; null is always one of them."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A field that others have: the values that change nothing, and what to send instead of any other one."""

    neutral: Neutral
    instead: str = "leave it out"


_NEVER: Neutral = ()
_OFF: Neutral = (False,)
_EITHER: Neutral = (False, True)
_ZERO: Neutral = (0,)
_ONE: Neutral = (1,)
_EMPTY_LIST: Neutral = ([],)
_EMPTY_OBJECT: Neutral = ({},)

_SCHEMA_FORMAT = 'send response_format {"type": "json_schema", "json_schema": {"name": "answer", "schema": {...}}}'
_OBJECT = 'send response_format {"type": "json_object"}'
_REGEX = 'send response_format {"type": "regex", "regex": "..."}'
_CHOICE = 'send response_format {"type": "choice", "choice": ["...", "..."]}'
_GRAMMAR = 'send grammar "...", or response_format {"type": "grammar", "grammar": "...", "syntax": "gbnf"} or "lark"'
_ANY_FORMAT = 'send response_format, of type "json_schema", "json_object", "regex", "choice" or "grammar"'
_WHOLE = (
    'a constraint is about the whole answer: send grammar "..." in GBNF, in which TagDispatch tells free text from tags'
)
_BACKEND = "constraints are enforced by this server itself: leave it out"
_ENFORCE = "what may be answered is said by response_format, grammar or json_schema"
_SAMPLING = "what is drawn is said by temperature, top_p, top_k and seed: leave it out"
_STOP = 'send stop ["..."] with plain text, or end the answer by a constraint'
_MIN = 'send response_format {"type": "regex", "regex": "..."}, or another constraint that says how long the answer is'
_LOGPROBS = "log-probabilities are not told: leave it out"
_SCHEMA_OF_CALL = f"tools are not called here; {_SCHEMA_FORMAT}, with the schema of the arguments"
_HISTORY = "tools are not called here: tell in content what was called and what came back"

_OPENAI: Mapping[str, Foreign] = {
    "audio": Foreign(_NEVER, "answers are text: leave it out"),
    "frequency_penalty": Foreign(_ZERO, _SAMPLING),
    "function_call": Foreign(("none", "auto"), _SCHEMA_OF_CALL),
    "functions": Foreign(_EMPTY_LIST, _SCHEMA_OF_CALL),
    "logit_bias": Foreign(_EMPTY_OBJECT, _ENFORCE),
    "logprobs": Foreign(_OFF, _LOGPROBS),
    "modalities": Foreign((["text"],), 'answers are text: leave it out or send ["text"]'),
    "moderation": Foreign(_NEVER),
    "parallel_tool_calls": Foreign(_EITHER),
    "prediction": Foreign(_NEVER, "text that has no alternative is skipped anyway (swyb.jump_forward): leave it out"),
    "presence_penalty": Foreign(_ZERO, _SAMPLING),
    "prompt_cache_options": Foreign(_NEVER, "prompts that begin alike are cached anyway: leave it out"),
    "prompt_cache_retention": Foreign(_NEVER, "prompts that begin alike are cached anyway: leave it out"),
    "reasoning": Foreign(_NEVER, "whether and how a model reasons is up to its chat template: leave it out"),
    "reasoning_effort": Foreign(("none",), "whether and how a model reasons is up to its chat template: leave it out"),
    "service_tier": Foreign(("auto", "default")),
    "store": Foreign(_OFF, "answers are not kept: leave it out"),
    "text": Foreign(_NEVER, _SCHEMA_FORMAT),
    "tool_choice": Foreign(("none", "auto"), _SCHEMA_OF_CALL),
    "tools": Foreign(_EMPTY_LIST, _SCHEMA_OF_CALL),
    "top_logprobs": Foreign(_ZERO, _LOGPROBS),
    "verbosity": Foreign(("medium",), "send max_tokens, and ask for it in a message"),
    "web_search_options": Foreign(_NEVER, "put what the model should know into messages"),
}

_CONSTRAINTS_OF_OTHERS: Mapping[str, Foreign] = {
    "choice": Foreign(_NEVER, _CHOICE),
    "ebnf": Foreign(_NEVER, _GRAMMAR),
    "grammar_lazy": Foreign(_OFF, _WHOLE),
    "grammar_triggers": Foreign(_EMPTY_LIST, _WHOLE),
    "guided_choice": Foreign(_NEVER, _CHOICE),
    "guided_decoding_backend": Foreign(_NEVER, _BACKEND),
    "guided_grammar": Foreign(_NEVER, _GRAMMAR),
    "guided_json": Foreign(_NEVER, _SCHEMA_FORMAT),
    "guided_json_object": Foreign(_OFF, _OBJECT),
    "guided_regex": Foreign(_NEVER, _REGEX),
    "guided_whitespace_pattern": Foreign(_NEVER, 'send swyb {"whitespace": "compact"}, "bounded" or "any"'),
    "json_object": Foreign(_OFF, _OBJECT),
    "lark": Foreign(_NEVER, _GRAMMAR),
    "regex": Foreign(_NEVER, _REGEX),
    "structural_tag": Foreign(_NEVER, _WHOLE),
    "structured_outputs": Foreign(_NEVER, _ANY_FORMAT),
    "structured_outputs_backend": Foreign(_NEVER, _BACKEND),
}

_OTHER_SERVERS: Mapping[str, Foreign] = {
    "add_generation_prompt": Foreign((True,), "an answer is a turn of its own: leave it out"),
    "add_special_tokens": Foreign(_OFF),
    "allowed_token_ids": Foreign(_NEVER, _ENFORCE),
    "bad_words": Foreign(_EMPTY_LIST, _ENFORCE),
    "best_of": Foreign(_ONE, 'send n, and swyb {"beam_width": 4} for the best of several beams'),
    "cache_prompt": Foreign(_EITHER),
    "chat_template": Foreign(_NEVER, "the model's own template is used: leave it out"),
    "chat_template_args": Foreign(_EMPTY_OBJECT, "the model's own template is used as it is: leave it out"),
    "chat_template_kwargs": Foreign(_EMPTY_OBJECT, "the model's own template is used as it is: leave it out"),
    "continue_final_message": Foreign(_OFF, "an answer is a turn of its own: end with a message of the user"),
    "custom_logit_processor": Foreign(_NEVER, _ENFORCE),
    "documents": Foreign(_EMPTY_LIST, "put them into messages"),
    "dry_multiplier": Foreign(_ZERO, _SAMPLING),
    "dynatemp_range": Foreign(_ZERO, _SAMPLING),
    "echo": Foreign(_OFF, "the prompt is not repeated: leave it out"),
    "enable_thinking": Foreign(_OFF, "whether and how a model reasons is up to its chat template: leave it out"),
    "id_slot": Foreign((-1,), "there are no slots to choose: leave it out"),
    "ignore_eos": Foreign(_OFF, _MIN),
    "include_reasoning": Foreign(_EITHER),
    "include_stop_str_in_output": Foreign(_OFF),
    "kv_transfer_params": Foreign(_NEVER, "prompts are computed here: leave it out"),
    "length_penalty": Foreign(_ONE, "beams are ranked by their scores as they are: leave it out"),
    "logits_processors": Foreign(_NEVER, _ENFORCE),
    "lora_path": Foreign(_NEVER, "one model is served: leave it out"),
    "mediaio_kwargs": Foreign(_EMPTY_OBJECT),
    "min_p": Foreign(_ZERO, _SAMPLING),
    "min_tokens": Foreign(_ZERO, _MIN),
    "mirostat": Foreign(_ZERO, _SAMPLING),
    "mm_processor_kwargs": Foreign(_EMPTY_OBJECT),
    "n_keep": Foreign(_ZERO, "messages are never cut: send fewer"),
    "n_predict": Foreign(_NEVER, "send max_tokens"),
    "n_probs": Foreign(_ZERO, _LOGPROBS),
    "priority": Foreign(_ZERO, "requests are served as they come: leave it out"),
    "prompt": Foreign(_NEVER, 'send messages [{"role": "user", "content": "..."}]'),
    "prompt_logprobs": Foreign(_NEVER, _LOGPROBS),
    "reasoning_format": Foreign(_NEVER, "the text is sent as it was generated: leave it out"),
    "repeat_penalty": Foreign(_ONE, _SAMPLING),
    "repetition_penalty": Foreign(_ONE, _SAMPLING),
    "request_id": Foreign(_NEVER, "requests get their ids here: leave it out, or send metadata"),
    "return_tokens_as_token_ids": Foreign(_OFF),
    "return_token_ids": Foreign(_OFF),
    "samplers": Foreign(_NEVER, _SAMPLING),
    "separate_reasoning": Foreign(_EITHER),
    "skip_special_tokens": Foreign((True,)),
    "spaces_between_special_tokens": Foreign(_EITHER),
    "stop_regex": Foreign(_NEVER, _STOP),
    "stop_token_ids": Foreign(_EMPTY_LIST, _STOP),
    "structural_tags": Foreign(_EMPTY_LIST, _WHOLE),
    "thinking": Foreign(_NEVER, "whether and how a model reasons is up to its chat template: leave it out"),
    "thinking_budget": Foreign(_NEVER, "whether and how a model reasons is up to its chat template: leave it out"),
    "timings_per_token": Foreign(_OFF),
    "truncate_prompt_tokens": Foreign(_NEVER, "messages are never cut: send fewer"),
    "typical_p": Foreign(_ONE, _SAMPLING),
    "use_beam_search": Foreign(_OFF, 'send swyb {"beam_width": 4}'),
    "vllm_xargs": Foreign(_EMPTY_OBJECT),
    "xtc_probability": Foreign(_ZERO, _SAMPLING),
}

REQUEST: Mapping[str, Foreign] = {**_OPENAI, **_CONSTRAINTS_OF_OTHERS, **_OTHER_SERVERS}
"""Foreign fields of a chat request."""

MESSAGE: Mapping[str, Foreign] = {
    "annotations": Foreign(_EMPTY_LIST),
    "audio": Foreign(_NEVER, "messages are text: leave it out"),
    "function_call": Foreign(_NEVER, _HISTORY),
    "name": Foreign(_NEVER, "put the name into content"),
    "reasoning": Foreign(_NEVER, "only content is part of the prompt: leave it out"),
    "reasoning_content": Foreign(_NEVER, "only content is part of the prompt: leave it out"),
    "refusal": Foreign(_NEVER, "only content is part of the prompt: leave it out"),
    "tool_call_id": Foreign(_NEVER, _HISTORY),
    "tool_calls": Foreign(_EMPTY_LIST, _HISTORY),
}
"""Foreign fields of one message of a chat: what clients send back of an answer they got."""
