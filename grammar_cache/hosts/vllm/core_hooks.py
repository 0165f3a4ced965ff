"""Hooks in vLLM's engine core: a request's grammar is ours, knows what is left, and tells that an answer is whole."""

from __future__ import annotations

import functools
import logging
from typing import Any

from vllm.v1.request import RequestStatus
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.structured_output.backend_types import StructuredOutputGrammar

from grammar_cache.errors import GrammarError
from grammar_cache.hosts.vllm.budget_grammar import BudgetGrammar, Thoughts
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
        self._manager = manager
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
        thoughts = None
        if self._closer and self._manager._get_constraint_bounds(request, ()).constraint_start > 0:
            thoughts = Thoughts(self._closer, int(self._settings.answer_share * budget))
        ends = frozenset(params.all_stop_token_ids) & frozenset(grammar.vocabulary.stop_ids)
        if not ends:
            raise ValueError("the request has no end token that the tokenizer knows: its answer could not end")
        return BudgetGrammar(grammar, budget, ends, thoughts)


def install(settings: PluginSettings) -> bool:
    """Hooks the engine core's manager of structured outputs; False where it is already."""
    if hasattr(StructuredOutputManager, "swyb_core"):
        return False
    StructuredOutputManager.swyb_core = None
    StructuredOutputGrammar.register(BudgetGrammar)
    _hook_init(settings)
    _hook_create()
    _hook_fill()
    _hook_step()
    _hook_validate()
    _hook_accept()
    return True


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
            if isinstance(entry[0], BudgetGrammar):
                entry[0].fill_bitmask(self._grammar_bitmask, entry[1])
            else:
                original(self, (entry,))

    StructuredOutputManager._fill_bitmasks = fill


def _hook_step() -> None:
    original = StructuredOutputManager.grammar_bitmask

    @functools.wraps(original)
    def bitmask(self: Any, requests: Any, ids: Any, drafts: Any) -> Any:
        ours = {name: grammar for name in ids if (grammar := _ours(requests[name])) is not None}
        for name, grammar in ours.items():
            grammar.begin_step(drafts.get(name, ()))
        try:
            return original(self, requests, ids, drafts)
        finally:
            for grammar in ours.values():
                grammar.end_step()

    StructuredOutputManager.grammar_bitmask = bitmask


def _hook_validate() -> None:
    original = StructuredOutputManager.validate_tokens

    @functools.wraps(original)
    def validate(self: Any, request: Any, tokens: list[int]) -> list[int]:
        grammar = _ours(request)
        found: list[int] = original(self, request, tokens) if grammar is None else grammar.validate_tokens(tokens)
        return found

    StructuredOutputManager.validate_tokens = validate


def _hook_accept() -> None:
    original = StructuredOutputManager.accept_tokens

    @functools.wraps(original)
    def accept(self: Any, request: Any, tokens: Any) -> bool:
        grammar = _ours(request)
        if grammar is None or not tokens:
            return bool(original(self, request, tokens))
        start = 0
        if grammar.is_thinking:
            start = self._get_constraint_bounds(request, tokens, spec_tokens_committed=True).grammar_start
        right = grammar.commit(tokens) and bool(original(self, request, tokens))
        if right and grammar.is_thinking and start <= len(tokens):
            right = grammar.end_thoughts(len(tokens) - start)
        if right and request.status == RequestStatus.FINISHED_LENGTH_CAPPED and grammar.complete:
            request.stop_reason = COMPLETE
        return right

    StructuredOutputManager.accept_tokens = accept
