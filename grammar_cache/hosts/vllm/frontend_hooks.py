"""Hooks in vLLM's front end: requests are certified or refused before anything streams, and ends are told rightly."""

from __future__ import annotations

import asyncio
import functools
import logging
import sys
from json import loads
from typing import Any

from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.chat_completion.serving import OpenAIServingChat
from vllm.entrypoints.openai.completion.protocol import CompletionRequest
from vllm.entrypoints.openai.completion.serving import OpenAIServingCompletion
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.entrypoints.openai.responses.serving import OpenAIServingResponses
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import SamplingParams
from vllm.v1.engine import FinishReason
from vllm.v1.engine.input_processor import InputProcessor
from vllm.v1.engine.output_processor import RequestState

from grammar_cache.errors import GrammarError
from grammar_cache.hosts.vllm.artefacts import attach
from grammar_cache.hosts.vllm.compiler import Certified, Compiler
from grammar_cache.hosts.vllm.constraints import constraint_of, cutting
from grammar_cache.hosts.vllm.core_hooks import closer_of
from grammar_cache.hosts.vllm.manager import ENDED
from grammar_cache.hosts.vllm.settings import PluginSettings
from grammar_cache.hosts.vllm.stream_hooks import note

log = logging.getLogger("vllm.swyb_budget")

RENDERS = (
    (OpenAIServingChat, "render_chat_request"),
    (OpenAIServingCompletion, "render_completion_request"),
    (OpenAIServingResponses, "_render_resolved_response_inputs"),
)
"""Methods that prepare a request before its sampling is known: what takes long is done here, in a thread."""
SWITCH_SECONDS = 0.0005
"""Seconds for which a thread that compiles holds the interpreter while the event loop waits for it. An event of a
stream waits several times: by Python's own setting, ten times as long, streams would stop for the time of a compile.
"""
REQUESTS = (ChatCompletionRequest, CompletionRequest, ResponsesRequest)


class Gate:
    """Knowledge of the front end's hooks: the compiler of the model's tokenizer, once there is one. `tells`: whether
    answers have their certificates; where memory is transferred, the field that they would stand in is another's.
    """

    def __init__(self, settings: PluginSettings) -> None:
        self._settings = settings
        self.compiler: Compiler | None = None
        self.tells = False
        self._closer: tuple[int, ...] = ()

    def begin(self, processor: Any) -> None:
        """Reads the tokenizer of the engine's input processor."""
        config = processor.vllm_config
        if not config.model_config.skip_tokenizer_init:
            generation = config.model_config.try_get_generation_config()
            self.compiler = Compiler.of(processor.tokenizer, generation, self._settings)
            self._closer = closer_of(config)
            self.tells = config.kv_transfer_config is None
            sys.setswitchinterval(min(SWITCH_SECONDS, sys.getswitchinterval()))

    def certify(self, params: Any) -> Certified | None:
        """The constraint of vLLM's SamplingParams, where it is ours. Raises VLLMValidationError, a 400 on every
        route.
        """
        outputs = params.structured_outputs
        if self.compiler is None or outputs is None or outputs.all_constraints_none():
            return None
        try:
            certified = self.compiler.certified(constraint_of(outputs))
        except GrammarError as error:
            if self._settings.fallback:
                log.warning("no budget for this constraint (%s): vLLM's own backend takes it", error)
                return None
            raise VLLMValidationError(
                f"{error.code}: the constraint can't be enforced: {error}", parameter="structured_outputs"
            ) from error
        silent = certified.special or bool(self._closer)
        for name, value in cutting(params, self.compiler.vocabulary, silent=silent):
            raise VLLMValidationError(
                f"{name} may leave a constrained answer incomplete: it is not supported with one",
                parameter=name,
                value=value,
            )
        least = self.least(certified)
        if params.max_tokens is not None and params.max_tokens < least:
            raise VLLMValidationError(
                f"budget_too_small: a complete answer needs at least {least} tokens, and the budget is "
                f"{params.max_tokens}",
                parameter="max_tokens",
                value=params.max_tokens,
            )
        return certified

    def least(self, certified: Certified) -> int:
        """Fewest tokens of a request with this constraint: the closer of thoughts is among them."""
        return certified.minimum.tokens + len(self._closer)

    async def prepare(self, request: Any) -> None:
        """Compiles a request's constraint in a thread, that the event loop isn't held; refusals come later."""
        if self.compiler is None:
            return
        outputs = request.extract_structured_outputs()
        if outputs is None or outputs.all_constraints_none():
            return
        try:
            await asyncio.to_thread(self.compiler.certified, constraint_of(outputs))
        except GrammarError:
            log.debug("a constraint is refused when it's certified", exc_info=True)


def install(settings: PluginSettings) -> None:
    """Hooks the front end's classes."""
    gate = Gate(settings)
    _hook_processor(gate)
    _hook_validation(gate)
    for serving, name in RENDERS:
        _hook_render(gate, serving, name)
    for kind in REQUESTS:
        _hook_sampling(gate, kind)
    for kind in (ChatCompletionRequest, CompletionRequest):
        _hook_beams(kind)
    _hook_finish(gate)


def gate_of() -> Gate:
    """The gate of this process's hooks."""
    found: Gate = InputProcessor.__init__.gate
    return found


def _hook_processor(gate: Gate) -> None:
    original = InputProcessor.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        gate.begin(self)

    init.gate = gate  # type: ignore[attr-defined]
    InputProcessor.__init__ = init


def _hook_validation(gate: Gate) -> None:
    original = SamplingParams._validate_structured_outputs

    @functools.wraps(original)
    def validate(self: Any, model_config: Any, config: Any, tokenizer: Any) -> None:
        certified = None if config is None or model_config.is_diffusion else gate.certify(self)
        if certified is None:
            original(self, model_config, config, tokenizer)
            return
        outputs = self.structured_outputs
        # What else of vLLM asks for: its own backend never sees this grammar.
        outputs._backend_was_auto = config.backend == "auto"
        outputs._backend = "xgrammar" if config.backend == "auto" else config.backend
        attach(self, certified.artefact)

    SamplingParams._validate_structured_outputs = validate


def _hook_render(gate: Gate, serving: Any, name: str) -> None:
    original = getattr(serving, name)

    @functools.wraps(original)
    async def render(self: Any, request: Any, *args: Any, **options: Any) -> Any:
        result = await original(self, request, *args, **options)
        await gate.prepare(request)
        return result

    setattr(serving, name, render)


def _hook_sampling(gate: Gate, kind: Any) -> None:
    original = kind.to_sampling_params

    @functools.wraps(original)
    def to_sampling_params(self: Any, *args: Any, **options: Any) -> Any:
        params = original(self, *args, **options)
        gate.certify(params)
        return params

    kind.to_sampling_params = to_sampling_params


def _hook_beams(kind: Any) -> None:
    original = kind.to_beam_search_params

    @functools.wraps(original)
    def to_beam_search_params(self: Any, *args: Any, **options: Any) -> Any:
        if self.extract_structured_outputs() is not None:
            raise VLLMValidationError(
                "vLLM's beam search drops constraints in silence: it is not supported with one",
                parameter="use_beam_search",
            )
        return original(self, *args, **options)

    kind.to_beam_search_params = to_beam_search_params


def _hook_finish(gate: Gate) -> None:
    original = RequestState.make_request_output

    @functools.wraps(original)
    def make(
        self: Any,
        new_token_ids: Any,
        pooling_output: Any,
        finish_reason: Any,
        stop_reason: Any,
        kv_transfer_params: Any = None,
        *args: Any,
        **options: Any,
    ) -> Any:
        certificate = None
        if isinstance(stop_reason, str) and stop_reason.startswith(ENDED):
            told = loads(stop_reason.removeprefix(ENDED))
            stop_reason, certificate = told["stop_reason"], told["certificate"]
            if certificate["complete"]:
                finish_reason = FinishReason.STOP
            if gate.tells:
                kv_transfer_params = {"swyb": certificate}
        made = original(
            self, new_token_ids, pooling_output, finish_reason, stop_reason, kv_transfer_params, *args, **options
        )
        if made is not None and certificate is not None and gate.tells:
            note(made, self.request_index, kv_transfer_params)
        return made

    RequestState.make_request_output = make
