"""Hook in vLLM's engine core: its manager of structured outputs makes a grammar of ours for each request, of the
artefact that the front end has attached.
"""

from __future__ import annotations

from typing import Any, ClassVar

from vllm.v1.engine import core

from grammar_cache.errors import GrammarError
from grammar_cache.hosts.vllm.artefacts import detach
from grammar_cache.hosts.vllm.budget_grammar import BudgetGrammar, Thoughts
from grammar_cache.hosts.vllm.compiler import Compiler
from grammar_cache.hosts.vllm.constraints import constraint_of
from grammar_cache.hosts.vllm.manager import BudgetManager
from grammar_cache.hosts.vllm.settings import PluginSettings


def closer_of(config: Any) -> tuple[int, ...]:
    """Tokens that end thinking; none where nobody thinks, or where thoughts are constrained too."""
    reasoning, outputs = config.reasoning_config, config.structured_outputs_config
    if not outputs.reasoning_parser or outputs.enable_in_reasoning or reasoning is None:
        return ()
    return tuple(reasoning.reasoning_end_token_ids or ())


class CompilingManager(BudgetManager):
    """Manager that compiles the constraints of requests. `settings`: the plug-in's, given by `install`."""

    settings: ClassVar[PluginSettings]

    def __init__(self, vllm_config: Any) -> None:
        super().__init__(vllm_config)
        model = vllm_config.model_config
        self._closer = closer_of(vllm_config)
        self._compiler: Compiler | None = None
        if not model.skip_tokenizer_init:
            self._compiler = Compiler.of(self.tokenizer, model.try_get_generation_config(), self.settings)

    def _create_grammar(self, request: Any) -> Any:
        """Grammar object of a request: vLLM's own where its backend takes it. Raises GrammarError, which fails the
        request alone.
        """
        found = None if self._compiler is None else self._budget_grammar(request, self._compiler)
        return super()._create_grammar(request) if found is None else found

    def _budget_grammar(self, request: Any, compiler: Compiler) -> BudgetGrammar | None:
        params, artefact = request.sampling_params, detach(request.sampling_params)
        try:
            grammar = compiler.grammar(constraint_of(params.structured_outputs), artefact)
        except GrammarError:
            if self.settings.fallback:
                return None
            raise
        budget = min(request.max_tokens, self.vllm_config.model_config.max_model_len - request.num_prompt_tokens)
        thoughts = None
        if self._closer and self._get_constraint_bounds(request, ()).constraint_start > 0:
            thoughts = Thoughts(self._closer, int(self.settings.answer_share * budget))
        ends = frozenset(params.all_stop_token_ids) & frozenset(grammar.vocabulary.stop_ids)
        if not ends:
            raise ValueError("the request has no end token that the tokenizer knows: its answer could not end")
        return BudgetGrammar(grammar, budget, ends, thoughts)


def install(settings: PluginSettings) -> bool:
    """Has the engine core make this manager; False where it does already."""
    if core.StructuredOutputManager is CompilingManager:
        return False
    CompilingManager.settings = settings
    core.StructuredOutputManager = CompilingManager
    return True
