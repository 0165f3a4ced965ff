"""vLLM's manager of structured outputs, in its engine core, for grammars that know what is left of their budgets.

Masks are made beside the forward pass. Grammars of vLLM's own backends are served as vLLM serves them.
"""

from __future__ import annotations

import logging
from dataclasses import asdict
from json import dumps
from typing import Any

from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.structured_output.backend_types import StructuredOutputGrammar

from grammar_cache.hosts.vllm.budget_grammar import BudgetGrammar

log = logging.getLogger("vllm.swyb_budget")

StructuredOutputGrammar.register(BudgetGrammar)

ENDED = "swyb_budget:"
"""Beginning of the stop reasons by which the engine core tells the front end of an answer's end: JSON with its
`certificate`, and the `stop_reason` that it would have. For an answer of `max_tokens` tokens that is complete, a status
of "stopped" would have the front end take the last token for an end token, and drop it.
"""


class BudgetManager(StructuredOutputManager):  # type: ignore[misc]  # vLLM is not installed where types are checked
    """See vLLM's manager."""

    def _fill_bitmasks(self, batch: Any) -> None:
        """An entry's first three fields are grammar, row and whether the grammar applies; 0.33 has a fourth."""
        rows = self._grammar_bitmask.numpy()  # once: a row of a tensor costs more than its mask
        for entry in batch:
            if isinstance(entry[0], BudgetGrammar):
                entry[0].fill(rows[entry[1]])
            else:
                super()._fill_bitmasks((entry,))

    def grammar_bitmask(
        self, requests: Any, structured_output_request_ids: Any, scheduled_spec_decode_tokens: Any
    ) -> Any:
        found = {name: budget_grammar_of(requests[name]) for name in structured_output_request_ids}
        ours = {name: grammar for name, grammar in found.items() if grammar is not None}
        for name, grammar in ours.items():
            grammar.begin_step(scheduled_spec_decode_tokens.get(name, ()))
        try:
            return super().grammar_bitmask(requests, structured_output_request_ids, scheduled_spec_decode_tokens)
        finally:
            for grammar in ours.values():
                grammar.end_step()

    def validate_tokens(self, request: Any, spec_tokens: list[int]) -> list[int]:
        grammar = budget_grammar_of(request)
        if grammar is not None:
            return grammar.validate_tokens(spec_tokens)
        found: list[int] = super().validate_tokens(request, spec_tokens)
        return found

    def accept_tokens(self, request: Any, new_token_ids: list[int]) -> bool:
        grammar = budget_grammar_of(request)
        if grammar is None or not new_token_ids:
            return bool(super().accept_tokens(request, new_token_ids))
        try:
            return self._goes_on(grammar, request, new_token_ids)
        except Exception:  # it would end the engine, and every request with it
            log.exception("request %s can't be followed: it ends", request.request_id)
            return False

    def _goes_on(self, grammar: BudgetGrammar, request: Any, new_token_ids: list[int]) -> bool:
        start = 0
        if grammar.is_thinking:
            start = self._get_constraint_bounds(request, new_token_ids, spec_tokens_committed=True).grammar_start
        right = grammar.commit(new_token_ids) and bool(super().accept_tokens(request, new_token_ids))
        if right and grammar.is_thinking and start <= len(new_token_ids):
            right = grammar.end_thoughts(len(new_token_ids) - start)
        if right and request.is_finished():
            told = {"certificate": asdict(grammar.certificate()), "stop_reason": request.stop_reason}
            request.stop_reason = ENDED + dumps(told)
        return right


def budget_grammar_of(request: Any) -> BudgetGrammar | None:
    """Grammar object of a request of vLLM's, if it is one of ours."""
    if not request.use_structured_output:
        return None
    grammar = request.structured_output_request.grammar
    return grammar if isinstance(grammar, BudgetGrammar) else None
