"""Fields of a chat request by who documents them: OpenAI's interface, and servers that add fields to it.

Read in the sources of their servers in November 2026: `protocol.py` of vLLM (0.11 and 0.13), SGLang and LMDeploy,
`openai_protocol.py` of TensorRT-LLM, the README of llama.cpp's server, `lib.rs` of TGI, `openai.go` and the API page of
Ollama.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OPENAI = _names(
    """
    audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages
    metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
    prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier
    stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options
    """
)
_SHARED = _names(
    """
    frequency_penalty logit_bias logprobs max_completion_tokens max_tokens messages model n presence_penalty
    response_format seed stop stream stream_options temperature tool_choice tools top_logprobs top_p user
    """
)
"""Fields of OpenAI's that most servers document too."""

DOCUMENTED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "OpenAI": _OPENAI,
        "vLLM": _SHARED
        | _names(
            """
            add_generation_prompt add_special_tokens allowed_token_ids bad_words best_of cache_salt chat_template
            chat_template_kwargs continue_final_message documents echo guided_choice guided_decoding_backend
            guided_grammar guided_json guided_regex guided_whitespace_pattern ignore_eos include_reasoning
            include_stop_str_in_output kv_transfer_params length_penalty logits_processors max_repetition_pattern_size
            min_p min_repetition_pattern_size min_tokens mm_processor_kwargs parallel_tool_calls priority
            prompt_logprobs reasoning_effort repetition_min_count repetition_penalty request_id return_token_ids
            return_tokens_as_token_ids skip_special_tokens spaces_between_special_tokens stop_token_ids structural_tag
            structured_outputs top_k truncate_prompt_tokens use_beam_search vllm_xargs
            """
        ),
        "SGLang": _SHARED
        | _names(
            """
            bootstrap_host bootstrap_port bootstrap_room cache_salt chat_template_kwargs continue_final_message
            custom_labels custom_logit_processor custom_params data_parallel_rank disagg_prefill_dp_rank ebnf extra_key
            ignore_eos images_config input_ids json_schema lora_path max_dynamic_patch min_dynamic_patch min_p
            min_tokens ngram_corpus_id no_stop_trim parallel_tool_calls priority reasoning reasoning_effort regex
            repetition_penalty return_cached_tokens_details return_hidden_states return_meta_info
            return_prompt_token_ids return_routed_experts return_token_ids rid routed_dp_rank routed_experts_start_len
            separate_reasoning session_id session_params skip_special_tokens stop_regex stop_token_ids stream_reasoning
            task top_k use_audio_in_video
            """
        ),
        "llama.cpp": _SHARED
        | _names(
            """
            add_generation_prompt backend_sampling cache_prompt chat_template_kwargs dry_allowed_length dry_base
            dry_multiplier dry_penalty_last_n dry_sequence_breakers dynatemp_exponent dynatemp_range grammar
            grammar_lazy grammar_triggers id_slot ignore_eos image_data json_schema lora min_keep min_p mirostat
            mirostat_eta mirostat_tau n_cache_reuse n_cmpl n_discard n_indent n_keep n_predict n_probs
            parallel_tool_calls parse_tool_calls penalize_nl post_sampling_probs prompt reasoning_budget
            reasoning_format repeat_last_n repeat_penalty response_fields return_progress return_tokens samplers
            speculative.n_max speculative.n_min speculative.p_min sse_ping_interval t_max_predict_ms t_max_prompt_ms
            tfs_z thinking_forced_open timings_per_token top_k top_n_sigma typical_p xtc_probability xtc_threshold
            """
        ),
        "TGI": (_SHARED - _names("max_completion_tokens user")) | _names("guideline tool_prompt"),
        "Ollama": _names(
            """
            _debug_render_only format frequency_penalty keep_alive logprobs max_tokens messages model options
            presence_penalty raw reasoning reasoning_effort response_format seed shift stop stream stream_options
            template temperature think tools top_logprobs top_p truncate
            """
        ),
        "TensorRT-LLM": _SHARED
        | _names(
            """
            add_generation_prompt add_special_tokens agent_hierarchy best_of cache_salt chat_template
            chat_template_kwargs conversation_params detokenize disaggregated_params documents early_stopping echo
            ignore_eos include_stop_str_in_output injected_chat_template_kwargs length_penalty lora_request
            media_io_kwargs min_p min_tokens mm_processor_kwargs parallel_tool_calls priority prompt_ignore_length
            prompt_token_ids prompt_token_ids_b64 reasoning_effort repetition_penalty return_context_logits
            skip_special_tokens spaces_between_special_tokens stop_token_ids thinking thinking_token_budget top_k
            top_p_min truncate_prompt_tokens use_beam_search
            """
        ),
        "LMDeploy": _SHARED
        | _names(
            """
            adapter_name chat_template_kwargs do_preprocess enable_thinking ignore_eos include_stop_str_in_output
            media_io_kwargs migration_request min_new_tokens min_p mm_processor_kwargs preserve_cache reasoning_effort
            repetition_penalty return_token_ids session_id skip_special_tokens spaces_between_special_tokens top_k
            with_cache
            """
        ),
    }
)
"""Names of fields, by server."""
