"""Answers of `/v1/explain`: why a token may follow, or may not."""

from __future__ import annotations

import asyncio

from grammar_cache.analysis.explanation import Explanation
from grammar_cache.errors import GrammarError
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.offline.tabled_grammar import TabledGrammar
from grammar_cache.unique_items.unique_items_grammar import with_unique_items
from server.checking.why import Unanswerable, why
from server.grammars.compiled import Certified
from server.presenters.grammars import asked_in
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.grammars import Explained, ExplainRequest
from server.service import Service


async def explained(service: Service, request: ExplainRequest) -> Explained:
    """Raises ApiError."""
    asked = await asked_in(service, request)
    certified = await service.certify(asked)
    try:
        found = await asyncio.to_thread(_explanation, certified, request)
    except Unanswerable as error:
        raise ApiError(ErrorCode.INVALID_VALUE, str(error), param=error.field) from error
    except GrammarError as error:
        raise asked.refusal(error) from error
    return Explained(
        allowed=found.allowed,
        reason=found.reason,
        message=found.message,
        distance=found.distance,
        next=list(found.next),
        may_end=found.may_end,
    )


def _explanation(certified: Certified, request: ExplainRequest) -> Explanation:
    """Asks a copy of the grammar: its own tables belong to the decoding thread."""
    known = certified.grammar
    grammar = with_unique_items(CompiledGrammar(known.network, known.vocabulary, known.limits, known.ignored))
    if certified.table is not None:
        grammar = TabledGrammar(grammar, certified.table)
    return why(grammar, request.prefix, request.token, request.tokens_left)
