"""Fields of other engines about how an answer is computed and told, each with its neutral values.

Numbers that mean something only beside another field are neutral: that other field is refused unless it is off.
"""

from __future__ import annotations

from collections.abc import Mapping

from server.protocol.foreign.field import (
    EITHER,
    EMPTY_LIST,
    EMPTY_OBJECT,
    NEVER,
    OFF,
    ONE,
    ZERO,
    Foreign,
    JsonType,
)

_NUMBER: tuple[JsonType, ...] = ("number",)
SAMPLING = "what is drawn is said by temperature, top_p, top_k, min_p, penalties and seed: leave it out"
"""Hint for whoever sends another way to draw tokens."""
_ROUTED = "one engine answers all requests: leave it out"
_PROMPT = "send messages"
_TEXT_ONLY = "messages and answers are text: leave it out"
_TOLD = "answers have the fields of OpenAI's, and swyb: leave it out"
_THINKING = "send reasoning_effort or enable_thinking"
_ADAPTERS = "one model is served, without adapters: leave it out"
_TIME = "the budget is in tokens: send max_tokens"

_LLAMA_CPP: Mapping[str, Foreign] = {
    "backend_sampling": Foreign(EITHER),
    "dry_allowed_length": Foreign(NEVER, SAMPLING, _NUMBER),
    "dry_base": Foreign(NEVER, SAMPLING, _NUMBER),
    "dry_penalty_last_n": Foreign(NEVER, SAMPLING, _NUMBER),
    "dry_sequence_breakers": Foreign(NEVER, SAMPLING, ("array",)),
    "dynatemp_exponent": Foreign(NEVER, SAMPLING, _NUMBER),
    "image_data": Foreign(EMPTY_LIST, _TEXT_ONLY),
    "lora": Foreign(EMPTY_LIST, _ADAPTERS),
    "min_keep": Foreign(ZERO, SAMPLING),
    "mirostat_eta": Foreign(NEVER, SAMPLING, _NUMBER),
    "mirostat_tau": Foreign(NEVER, SAMPLING, _NUMBER),
    "n_cache_reuse": Foreign(NEVER, "prompts that begin alike are cached anyway: leave it out", _NUMBER),
    "n_discard": Foreign(NEVER, "messages are never cut: leave it out", _NUMBER),
    "n_indent": Foreign(ZERO, "send a grammar that indents"),
    "parse_tool_calls": Foreign(EITHER),
    "penalize_nl": Foreign(OFF, SAMPLING),
    "post_sampling_probs": Foreign(EITHER, "log-probabilities are the model's own: leave it out"),
    "response_fields": Foreign(EMPTY_LIST, _TOLD),
    "return_progress": Foreign(OFF, _TOLD),
    "return_tokens": Foreign(OFF, _TOLD),
    "speculative.n_max": Foreign(NEVER, "drafts change no answer: leave it out", _NUMBER),
    "speculative.n_min": Foreign(NEVER, "drafts change no answer: leave it out", _NUMBER),
    "speculative.p_min": Foreign(NEVER, "drafts change no answer: leave it out", _NUMBER),
    "sse_ping_interval": Foreign((-1,), "nothing is sent in between: leave it out"),
    "t_max_predict_ms": Foreign((0, -1), _TIME),
    "t_max_prompt_ms": Foreign((0, -1), _TIME),
    "tfs_z": Foreign(ONE, SAMPLING),
    "thinking_forced_open": Foreign(OFF, _THINKING),
    "top_n_sigma": Foreign((-1, 0), SAMPLING),
    "xtc_threshold": Foreign(NEVER, SAMPLING, _NUMBER),
}

_OLLAMA: Mapping[str, Foreign] = {
    "_debug_render_only": Foreign(OFF, _TOLD),
    "keep_alive": Foreign(NEVER, "the model stays: leave it out", ("number", "string")),
    "options": Foreign(EMPTY_OBJECT, 'send an object, such as {"num_predict": 64}, where an answer is written'),
    "raw": Foreign(OFF, _PROMPT),
    "shift": Foreign(OFF, "messages are never cut: leave it out"),
    "template": Foreign(NEVER, "the model's own template is used: leave it out"),
    "truncate": Foreign(OFF, "messages are never cut: leave it out"),
}

_LOADING = "how the model is loaded and computed is the operator's: leave it out"
_BOOLEAN: tuple[JsonType, ...] = ("boolean",)
OPTIONS: Mapping[str, Foreign] = {
    "f16_kv": Foreign(NEVER, _LOADING, _BOOLEAN),
    "logits_all": Foreign(NEVER, _LOADING, _BOOLEAN),
    "low_vram": Foreign(NEVER, _LOADING, _BOOLEAN),
    "main_gpu": Foreign(NEVER, _LOADING, _NUMBER),
    "mirostat": Foreign(ZERO, SAMPLING),
    "mirostat_eta": Foreign(NEVER, SAMPLING, _NUMBER),
    "mirostat_tau": Foreign(NEVER, SAMPLING, _NUMBER),
    "num_batch": Foreign(NEVER, _LOADING, _NUMBER),
    # Prompts are never cut, and answers may go on behind it in Ollama too: it says how much memory there is.
    "num_ctx": Foreign(NEVER, _LOADING, _NUMBER),
    "num_gpu": Foreign(NEVER, _LOADING, _NUMBER),
    "num_gqa": Foreign(NEVER, _LOADING, _NUMBER),
    "num_keep": Foreign(NEVER, "messages are never cut: leave it out", _NUMBER),
    "num_thread": Foreign(NEVER, _LOADING, _NUMBER),
    "numa": Foreign(NEVER, _LOADING, _BOOLEAN),
    "penalize_newline": Foreign((True,), SAMPLING),
    "tfs_z": Foreign(ONE, SAMPLING),
    "typical_p": Foreign(ONE, SAMPLING),
    "use_mlock": Foreign(NEVER, _LOADING, _BOOLEAN),
    "use_mmap": Foreign(NEVER, _LOADING, _BOOLEAN),
    "vocab_only": Foreign(OFF, _LOADING),
}
"""Members of Ollama's `options` that are none of our fields."""

_SGLANG: Mapping[str, Foreign] = {
    "bootstrap_host": Foreign(NEVER, _ROUTED),
    "bootstrap_port": Foreign(NEVER, _ROUTED),
    "bootstrap_room": Foreign(NEVER, _ROUTED),
    "custom_labels": Foreign(EMPTY_OBJECT, "send metadata"),
    "custom_params": Foreign(EMPTY_OBJECT, SAMPLING),
    "data_parallel_rank": Foreign(NEVER, _ROUTED),
    "disagg_prefill_dp_rank": Foreign(NEVER, _ROUTED),
    "extra_key": Foreign(NEVER, "send metadata"),
    "images_config": Foreign(EMPTY_OBJECT, _TEXT_ONLY),
    "input_ids": Foreign(NEVER, _PROMPT),
    "max_dynamic_patch": Foreign(NEVER, _TEXT_ONLY, _NUMBER),
    "min_dynamic_patch": Foreign(NEVER, _TEXT_ONLY, _NUMBER),
    "ngram_corpus_id": Foreign(NEVER, "drafts change no answer: leave it out"),
    "no_stop_trim": Foreign(OFF, "the stop text is never a part of the answer: leave it out"),
    "return_cached_tokens_details": Foreign(OFF, _TOLD),
    "return_hidden_states": Foreign(OFF, _TOLD),
    "return_meta_info": Foreign(OFF, _TOLD),
    "return_prompt_token_ids": Foreign(OFF, _TOLD),
    "return_routed_experts": Foreign(OFF, _TOLD),
    "rid": Foreign(NEVER, "requests get their ids here: leave it out, or send metadata"),
    "routed_dp_rank": Foreign(NEVER, _ROUTED),
    "routed_experts_start_len": Foreign(ZERO, _TOLD),
    "session_params": Foreign(EMPTY_OBJECT, "sessions are not kept: send all messages"),
    "stream_reasoning": Foreign((True,), "thoughts are streamed as they come: leave it out"),
    "task": Foreign(NEVER, "ask for it in a message"),
    "use_audio_in_video": Foreign(OFF, _TEXT_ONLY),
}

_LMDEPLOY: Mapping[str, Foreign] = {
    "adapter_name": Foreign(NEVER, _ADAPTERS),
    "do_preprocess": Foreign((True,), "the model's own template is used: leave it out"),
    "migration_request": Foreign(NEVER, _ROUTED),
    "preserve_cache": Foreign(OFF, _ROUTED),
    "session_id": Foreign((-1,), "sessions are not kept: send all messages"),
    "with_cache": Foreign(OFF, _ROUTED),
}

_TENSORRT_LLM: Mapping[str, Foreign] = {
    "agent_hierarchy": Foreign(NEVER, _ROUTED),
    "conversation_params": Foreign(NEVER, _ROUTED),
    "detokenize": Foreign((True,), _TOLD),
    "disaggregated_params": Foreign(NEVER, _ROUTED),
    "early_stopping": Foreign(OFF, "a search ends when no beam can win: leave it out"),
    "injected_chat_template_kwargs": Foreign(EMPTY_LIST, "send chat_template_kwargs"),
    "lora_request": Foreign(NEVER, _ADAPTERS),
    "media_io_kwargs": Foreign(EMPTY_OBJECT, _TEXT_ONLY),
    "prompt_ignore_length": Foreign(ZERO, SAMPLING),
    "prompt_token_ids": Foreign(NEVER, _PROMPT),
    "prompt_token_ids_b64": Foreign(NEVER, _PROMPT),
    "return_context_logits": Foreign(OFF, _TOLD),
    "top_p_min": Foreign(ZERO, SAMPLING),
}

_TGI: Mapping[str, Foreign] = {
    "guideline": Foreign(NEVER, "ask for it in a message"),
    "tool_prompt": Foreign(NEVER, "tools are not called here: leave it out"),
}

_VLLM: Mapping[str, Foreign] = {
    "cache_salt": Foreign(NEVER, "it promises that prompts are not shared in a cache, and here they are: leave it out"),
    "max_repetition_pattern_size": Foreign(ZERO, "a constraint says how long the answer is: leave it out"),
    "min_repetition_pattern_size": Foreign(ZERO, "a constraint says how long the answer is: leave it out"),
    "repetition_detection": Foreign(NEVER, "a constraint says how long the answer is: leave it out"),
    "repetition_min_count": Foreign(ZERO, "a constraint says how long the answer is: leave it out"),
}

ENGINES: Mapping[str, Foreign] = {
    **_VLLM,
    **_SGLANG,
    **_LLAMA_CPP,
    **_TGI,
    **_OLLAMA,
    **_TENSORRT_LLM,
    **_LMDEPLOY,
}
"""Fields by name; fields of several engines, and of OpenAI's interface, are in `server.protocol.foreign_fields`."""
