"""Hooks in vLLM's engine core: a request's grammar is ours, knows what is left, and tells that an answer is whole."""

from __future__ import annotations

import functools
import logging
from typing import Any

from vllm.v1.request import RequestStatus
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.structured_output.backend_types import StructuredOutputGrammar

from grammar_cache.errors import BudgetTooSmall, GrammarError
from grammar_cache.hosts.vllm.budget_grammar import BudgetGrammar, Thinking
from grammar_cache.hosts.vllm.compiler import Compiler
from grammar_cache.hosts.vllm.constraints import constraint_of
from grammar_cache.hosts.vllm.settings import PluginSettings

log = logging.getLogger("vllm.swyb_budget")

COMPLETE = "swyb_budget:complete"
"""Stop reason by which the engine core tells the front end that an answer of `max_tokens` tokens is complete. A status
of "stopped" would have the front end take the last token for an end token, and drop it."""


def closer_of(config: Any) -> tuple[int, ...]:
    """Tokens that end thinking; none where nobody thinks, or where thoughts are constrained too."""
    reasoning, outputs = config.reasoning_config, config.structured_outputs_config
    if not outputs.reasoning_parser or outputs.enable_in_reasoning or reasoning is None:
        return ()
    return tuple(reasoning.reasoning_end_token_ids or ())


class Core:
    """Knowledge of the hooks of one StructuredOutputManager."""

    def __init__(self, settings: PluginSettings, manager: Any) -> None:
        self._settings = settings
        self._config = manager.vllm_config
        model = self._config.model_config
        self._compiler = Compiler.of(manager.tokenizer, model.try_get_generation_config())
        self._closer = closer_of(self._config)

    def grammar(self, request: Any) -> BudgetGrammar | None:
        """Grammar of a request; None where vLLM's own backend takes it. Raises GrammarError, which fails it alone."""
        params = request.sampling_params
        try:
            grammar = self._compiler.grammar(constraint_of(params.structured_outputs))
        except GrammarError:
            if self._settings.fallback:
                return None
            raise
        budget = min(request.max_tokens, self._config.model_config.max_model_len - request.num_prompt_tokens)
        minimum, thinking = grammar.minimum, None
        if self._closer:
            reserve = self._settings.reserve(minimum.tokens, budget)
            thinking = Thinking(self._closer, reserve, self._config.num_speculative_tokens)
        if budget < minimum.tokens + len(self._closer):
            raise BudgetTooSmall(budget, minimum.tokens + len(self._closer), minimum.exact)
        ends = frozenset(params.all_stop_token_ids) & frozenset(grammar.vocabulary.stop_ids)
        if not ends:
            raise ValueError("the request has no end token that the tokenizer knows: its answer could not end")
        return BudgetGrammar(grammar, request, budget, ends, thinking)


def install(settings: PluginSettings) -> None:
    """Hooks the engine core's manager of structured outputs."""
    StructuredOutputGrammar.register(BudgetGrammar)
    _hook_init(settings)
    _hook_create()
    _hook_fill()
    _hook_rows()
    _hook_accept()


def _ours(request: Any) -> BudgetGrammar | None:
    if not request.use_structured_output:
        return None
    grammar = request.structured_output_request.grammar
    return grammar if isinstance(grammar, BudgetGrammar) else None


def _hook_init(settings: PluginSettings) -> None:
    original = StructuredOutputManager.__init__

    @functools.wraps(original)
    def init(self: Any, vllm_config: Any) -> None:
        original(self, vllm_config)
        self.swyb_core = None if vllm_config.model_config.skip_tokenizer_init else Core(settings, self)

    StructuredOutputManager.__init__ = init


def _hook_create() -> None:
    original = StructuredOutputManager._create_grammar

    @functools.wraps(original)
    def create(self: Any, request: Any) -> Any:
        found = self.swyb_core.grammar(request) if self.swyb_core is not None else None
        return original(self, request) if found is None else found

    StructuredOutputManager._create_grammar = create


def _hook_fill() -> None:
    """An entry's first three fields are grammar, row and whether the grammar applies; 0.33 has a fourth."""
    original = StructuredOutputManager._fill_bitmasks

    @functools.wraps(original)
    def fill(self: Any, batch: Any) -> None:
        for entry in batch:
            grammar, index, applies = entry[:3]
            if isinstance(grammar, BudgetGrammar) and grammar.thinks and not applies:
                grammar.fill_thoughts(self._grammar_bitmask, index)
            else:
                original(self, (entry,))

    StructuredOutputManager._fill_bitmasks = fill


def _hook_rows() -> None:
    original = StructuredOutputManager.grammar_bitmask

    @functools.wraps(original)
    def bitmask(self: Any, requests: Any, ids: Any, *args: Any, **options: Any) -> Any:
        for name in ids:
            grammar = _ours(requests[name])
            if grammar is not None:
                grammar.free_rows = 0
        return original(self, requests, ids, *args, **options)

    StructuredOutputManager.grammar_bitmask = bitmask


def _hook_accept() -> None:
    original = StructuredOutputManager.accept_tokens

    @functools.wraps(original)
    def accept(self: Any, request: Any, new_token_ids: Any) -> bool:
        grammar = _ours(request)
        if grammar is None:
            return bool(original(self, request, new_token_ids))
        grammar.committing = True
        try:
            right = bool(original(self, request, new_token_ids))
        finally:
            grammar.committing = False
        if right and request.status == RequestStatus.FINISHED_LENGTH_CAPPED and grammar.complete:
            request.stop_reason = COMPLETE
        return right

    StructuredOutputManager.accept_tokens = accept
