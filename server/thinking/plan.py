"""Plan of a thought: what it may take of the budget, and what it leaves to the answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grammar_cache.analysis.text_length import usual_tokens
from grammar_cache.grammar import CompiledGrammar
from server.engines.contract import ChatTemplate
from server.protocol.chat import ChatRequest
from server.protocol.completions.request import CompletionRequest
from server.protocol.thinking.fields import Effort
from server.thinking.opening import Closer

RESERVE = 64
"""Tokens beyond its minimum that an answer keeps, where the budget has twice as many (benchmarks/log/2026-11.md)."""

SHARES: Mapping[Effort, float] = {"minimal": 0.1, "low": 0.2, "medium": 0.5, "high": 0.8, "xhigh": 0.95, "max": 1.0}
"""Shares of the budget that thoughts have at most, by effort: those of OpenRouter, for models that know no efforts."""


@dataclass(frozen=True, slots=True)
class ThinkingPlan:
    """Plan of a request's thoughts, in tokens.

    `answer`: what is left to the answer at least. `most`: what a thought may take, if more than the budget bounds it.
    `told`: whether clients are told the thought.
    """

    closer: Closer
    answer: int
    most: int | None = None
    told: bool = True

    def room(self, budget: int) -> int:
        """Tokens of a thought within the budget of thought, closer and answer."""
        room = max(0, budget - len(self.closer.tokens) - self.answer)
        return room if self.most is None else min(room, self.most)


def plan_of(
    request: ChatRequest | CompletionRequest,
    closer: Closer | None,
    template: ChatTemplate,
    minimum: int,
    budget: int,
    grammar: CompiledGrammar | None,
) -> ThinkingPlan | None:
    """Plan within a budget that has room for the closer and the answer's minimum; None where there is no closer.

    `grammar`: the answer's. Where its answers are never long, a thought leaves them no more than they can use.
    """
    if closer is None or not isinstance(request, ChatRequest):
        return None
    options, wish = request.swyb.thinking if request.swyb else None, request.wish
    reserve = options.reserve if options else None
    usual = usual_tokens(grammar) if grammar is not None and reserve is None else None
    answer = answer_tokens(minimum, reserve, budget - len(closer.tokens), usual)
    # A template that has words for efforts tells the model; else they are shares of the budget.
    share = None if "reasoning_effort" in template.variables else SHARES.get(wish.effort or "none")
    bounds = [wish.limit, None if share is None else int(share * budget)]
    most = min((bound for bound in bounds if bound is not None), default=None)
    return ThinkingPlan(closer, answer, most, wish.told)


def answer_tokens(minimum: int, reserve: int | None, rest: int, usual: int | None = None) -> int:
    """Tokens that an answer keeps of the `rest` of a budget, which is at least its `minimum`.

    Unless the request names a reserve, thought and answer share what is scarce, and no more than `usual` is kept.
    """
    if reserve is not None:
        return min(max(minimum, reserve), rest)
    wanted = RESERVE if usual is None else min(RESERVE, max(0, usual - minimum))
    return minimum + min(wanted, (rest - minimum) // 2)
