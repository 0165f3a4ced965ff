"""Ends that a request asks for beside its constraint: kept where no answer can meet them, and refused otherwise.

A stop text that could cut an answer short of its grammar would break the promise that answers are complete; one that no
answer contains never cuts anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from grammar_cache.grammar import CompiledGrammar
from grammar_cache.network.containment import FUEL, OutOfFuel, text_containing
from grammar_cache.special_tokens import ESCAPE
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.sampling import SamplingFields

SEARCHES = 4
"""Searches that take their whole time; more of them share what these have."""
LONGEST_EXAMPLE = 1_000
"""Bytes of an answer that an error repeats."""


def check_tokens(request: SamplingFields, vocabulary: Vocabulary) -> None:
    """Raises ApiError for ids that the vocabulary doesn't have."""
    named = {"logit_bias": map(int, request.logit_bias or ()), "stop_token_ids": request.stop_token_ids or ()}
    for field, tokens in named.items():
        for token in tokens:
            if token >= vocabulary.size:
                message = f"{field}: the model's tokens are 0 to {vocabulary.size - 1}, and {token} is none of them"
                raise ApiError(ErrorCode.INVALID_VALUE, message, param=field)


def check_stops(request: SamplingFields, grammar: CompiledGrammar) -> None:
    """Raises ApiError for a stop that an answer may contain. Each takes up to half a second, and all of them two; any
    thread may call.
    """
    if request.stop and grammar.network.reads(ESCAPE):
        raise _refused("stop", "special tokens stand between texts of this grammar, so any stop might cut one", None)
    parts = list(_parts(request, grammar.vocabulary))
    fuel = FUEL * SEARCHES // max(SEARCHES, len(parts))
    for field, part in parts:
        told = repr(part.decode(errors="replace"))
        try:
            found = text_containing(grammar.network, part, fuel)
        except OutOfFuel:
            why = f"that no answer contains {told} was not shown within a bounded search, so it might cut one"
            raise _refused(field, why, None) from None
        if found is None and grammar.network.unique and b"," in part:
            why = f"{told} may stand where one item of an array ends and the next one begins, so it might cut an answer"
            raise _refused(field, why, None)
        if found is not None and any(unique.required for unique in grammar.network.unique):
            # what is found has one item of each such array, so it is no example
            raise _refused(field, f"{told} would cut an answer short of its grammar", None)
        if found is not None:
            raise _refused(field, f"{told} would cut an answer short of its grammar, such as the example", found)


def _parts(request: SamplingFields, vocabulary: Vocabulary) -> Iterator[tuple[str, bytes]]:
    yield from (("stop", stop.encode()) for stop in request.stop or ())
    for token in request.stop_token_ids or ():
        if data := vocabulary.spelling[token]:  # other tokens without bytes are never part of an answer
            yield "stop_token_ids", data


def _refused(field: str, why: str, text: bytes | None) -> ApiError:
    details = {} if text is None else {"example": text[:LONGEST_EXAMPLE].decode(errors="replace")}
    message = f"{field}: {why}. Leave it out: an answer ends when it is complete"
    return ApiError(ErrorCode.CONFLICTING_PARAMETERS, message, param=field, details=details)
