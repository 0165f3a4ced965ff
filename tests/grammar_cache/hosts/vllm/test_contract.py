"""Contract with vLLM: classes and methods that the plug-in hooks. A failure names what moved."""

from __future__ import annotations

import inspect
import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

HOOKED = {
    "vllm.v1.engine.input_processor:InputProcessor.__init__": ["self", "vllm_config", "renderer"],
    "vllm.sampling_params:SamplingParams._validate_structured_outputs": [
        "self",
        "model_config",
        "structured_outputs_config",
        "tokenizer",
    ],
    "vllm.entrypoints.openai.chat_completion.serving:OpenAIServingChat.render_chat_request": ["self", "request"],
    "vllm.entrypoints.openai.completion.serving:OpenAIServingCompletion.render_completion_request": ["self", "request"],
    "vllm.entrypoints.openai.responses.serving:OpenAIServingResponses._render_resolved_response_inputs": [
        "self",
        "request",
    ],
    "vllm.entrypoints.openai.chat_completion.protocol:ChatCompletionRequest.to_sampling_params": [
        "self",
        "max_tokens",
        "default_sampling_params",
    ],
    "vllm.entrypoints.openai.completion.protocol:CompletionRequest.to_sampling_params": [
        "self",
        "max_tokens",
        "default_sampling_params",
    ],
    "vllm.entrypoints.openai.responses.protocol:ResponsesRequest.to_sampling_params": [
        "self",
        "default_max_tokens",
        "default_sampling_params",
    ],
    "vllm.entrypoints.openai.chat_completion.protocol:ChatCompletionRequest.to_beam_search_params": ["self"],
    "vllm.entrypoints.openai.completion.protocol:CompletionRequest.to_beam_search_params": ["self"],
    "vllm.entrypoints.openai.chat_completion.serving:OpenAIServingChat.chat_completion_stream_generator": [
        "self",
        "request",
        "result_generator",
    ],
    "vllm.entrypoints.openai.completion.serving:OpenAIServingCompletion.completion_stream_generator": [
        "self",
        "request",
        "engine_inputs",
        "result_generator",
    ],
    "vllm.entrypoints.anthropic.serving:AnthropicServingMessages.message_stream_converter": ["self", "generator"],
    "vllm.v1.engine.output_processor:RequestState.make_request_output": [
        "self",
        "new_token_ids",
        "pooling_output",
        "finish_reason",
        "stop_reason",
        "kv_transfer_params",
    ],
    "vllm.outputs:RequestOutput.add": ["self", "next_output", "aggregate"],
    "vllm.v1.structured_output:StructuredOutputManager.__init__": ["self", "vllm_config"],
    "vllm.v1.structured_output:StructuredOutputManager._create_grammar": ["self", "request"],
    "vllm.v1.structured_output:StructuredOutputManager._fill_bitmasks": ["self", "batch"],
    "vllm.v1.structured_output:StructuredOutputManager.grammar_bitmask": [
        "self",
        "requests",
        "structured_output_request_ids",
        "scheduled_spec_decode_tokens",
    ],
    "vllm.v1.structured_output:StructuredOutputManager.accept_tokens": ["self", "request", "new_token_ids"],
    "vllm.v1.structured_output:StructuredOutputManager.validate_tokens": ["self", "request", "spec_tokens"],
}
"""Methods, and the parameters that they begin with."""

READ = {
    "vllm.v1.request:Request": ["is_finished", "num_output_tokens", "use_structured_output"],
    "vllm.entrypoints.openai.chat_completion.protocol:ChatCompletionResponse": ["model_fields"],
    "vllm.sampling_params:SamplingParams": ["all_stop_token_ids", "extra_args"],
    "vllm.entrypoints.openai.chat_completion.protocol:ChatCompletionRequest": ["extract_structured_outputs"],
    "vllm.entrypoints.openai.completion.protocol:CompletionRequest": ["extract_structured_outputs"],
    "vllm.entrypoints.openai.responses.protocol:ResponsesRequest": ["extract_structured_outputs"],
    "vllm.v1.engine:FinishReason": ["STOP"],
    "vllm.plugins.endpoint_plugins.interface:EndpointPlugin": ["attach_router", "init_state"],
}
"""Classes, and attributes of theirs that the plug-in reads."""


def found(name: str) -> Any:
    """The object of a name. Skips where vLLM isn't installed."""
    if find_spec("vllm") is None:
        pytest.skip("vLLM is not installed here: make test-vllm does it")
    module, _, path = name.partition(":")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that vLLM imports
        here: Any = import_module(module)
    for part in path.split("."):
        assert hasattr(here, part), f"{name} is gone: {part} isn't there"
        here = getattr(here, part)
    return here


@pytest.mark.parametrize("name", HOOKED)
def test_hooked_methods_are_there(name: str) -> None:
    """Each method has its name, and begins with the parameters that the hook passes on."""
    parameters = list(inspect.signature(found(name)).parameters)
    expected = HOOKED[name]
    assert parameters[: len(expected)] == expected, f"{name} has other parameters: {parameters}"


@pytest.mark.parametrize("name", READ)
def test_what_is_read_is_there(name: str) -> None:
    """Each attribute is there."""
    here = found(name)
    missing = [attribute for attribute in READ[name] if not hasattr(here, attribute)]
    assert not missing, f"{name} lacks {missing}"


def test_the_engine_core_makes_the_manager_by_its_name() -> None:
    """The engine core's module has the class that the plug-in puts its own in the place of, and calls it."""
    manager = found("vllm.v1.structured_output:StructuredOutputManager")
    assert issubclass(found("vllm.v1.engine.core:StructuredOutputManager"), manager)
    assert "= StructuredOutputManager(vllm_config)" in inspect.getsource(found("vllm.v1.engine.core:EngineCore"))


def test_grammar_objects_have_what_the_scheduler_calls() -> None:
    """Every abstract method of vLLM's grammar objects is one of ours, with the same parameters."""
    from grammar_cache.hosts.vllm.budget_grammar import BudgetGrammar

    wanted = found("vllm.v1.structured_output.backend_types:StructuredOutputGrammar")
    for name in wanted.__abstractmethods__:
        ours, theirs = getattr(BudgetGrammar, name, None), getattr(wanted, name)
        assert ours is not None, f"vLLM's grammars have a new method: {name}"
        assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters), name
