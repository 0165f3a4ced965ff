"""Sampling parameters of one request, in vLLM's words.

Under a constraint, or with a seed, the worker's filter chooses the token and leaves vLLM nothing else to choose. vLLM's
own seeds are not used: on a processor, a request that has one can end the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vllm import SamplingParams
from vllm.sampling_params import RequestOutputKind

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.backend import Work
from server.backends.vllm.wire.end_tokens import end_tokens
from server.backends.vllm.wire.requests import BEAM, KEY, RowRequest
from server.decoding.forced_text import ForcedText


def sampling_params(work: Work, request: str, grammar: str | None, vocabulary: Vocabulary) -> SamplingParams:
    """`request`: a name of its own; `grammar`: the key that the workers know the work's grammar by."""
    parameters = work.parameters
    filtered = grammar is not None or parameters.seed is not None
    row = RowRequest(request, grammar, len(work.prompt), parameters.seeded())
    return SamplingParams(
        temperature=0.0 if filtered else parameters.temperature,
        top_p=1.0 if filtered else parameters.top_p,
        top_k=0 if filtered else parameters.top_k,
        max_tokens=parameters.budget,
        # The end tokens are ours: a model's folder may name others in places that only vLLM reads.
        ignore_eos=True,
        stop_token_ids=list(end_tokens(vocabulary)),
        detokenize=False,
        # Told of every token the front end works as often, on a processor that the engine's own processes want too.
        output_kind=RequestOutputKind.DELTA if work.pieces or parameters.stops else RequestOutputKind.FINAL_ONLY,
        extra_args={KEY: row.to_dict()} if filtered else None,
    )


def beam_params(work: Work, request: str, grammar: str | None, begun: Sequence[int]) -> SamplingParams:
    """Sampling parameters of beams, for the first row; `begun`: see `RowRequest`. The work's parameters have a seed."""
    over_text = isinstance(work.grammar, ForcedText) and work.parameters.jump_forward
    parameters = replace(work.parameters, jump_forward="text" if over_text else bool(work.parameters.jump_forward))
    row = RowRequest(request, grammar, len(work.prompt), parameters, tuple(begun))
    return SamplingParams(
        temperature=0.0,
        max_tokens=work.parameters.budget,
        ignore_eos=True,
        detokenize=False,
        output_kind=RequestOutputKind.DELTA,
        extra_args={KEY: row.to_dict(), BEAM: request},
    )
