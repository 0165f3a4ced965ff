"""Sampling parameters of one request, in vLLM's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vllm import SamplingParams
from vllm.sampling_params import RequestOutputKind

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.backend import Work
from server.backends.vllm.wire.end_tokens import end_tokens
from server.backends.vllm.wire.mask_requests import KEY as MASK_KEY
from server.backends.vllm.wire.mask_requests import MaskRequest
from server.backends.vllm.wire.requests import BEAM, KEY, SearchRequest
from server.decoding.forced_text import ForcedText
from server.decoding.parameters import Parameters

MOST_SEED = (1 << 63) - 1
"""Greatest seed that all of vLLM's runners take."""


def is_searched(parameters: Parameters) -> bool:
    """Whether the worker's filter chooses the tokens: beams, and texts guided by distances. All others are vLLM's own
    sampler's, within masks where there is a grammar.
    """
    return parameters.beam_width > 1 or parameters.alpha > 0 or parameters.jump_forward == "text"


def sampling_params(work: Work, grammar: str | None, vocabulary: Vocabulary) -> SamplingParams:
    """Sampling parameters of a single text. `grammar`: the key that the engine core knows the work's grammar by."""
    parameters, penalties = work.parameters, work.parameters.penalties
    plain = grammar is None
    ends = () if plain and parameters.ignore_end else end_tokens(vocabulary)
    seeded = parameters.seed is not None and parameters.temperature > 0
    return SamplingParams(
        temperature=parameters.temperature,
        top_p=parameters.top_p,
        top_k=parameters.top_k,
        min_p=parameters.min_p,
        presence_penalty=penalties.presence,
        frequency_penalty=penalties.frequency,
        repetition_penalty=penalties.repetition,
        logit_bias=dict(penalties.bias) or None,
        seed=(parameters.seed or 0) & MOST_SEED if seeded else None,
        max_tokens=parameters.budget,
        # A thought may have left the answer fewer, which vLLM would refuse.
        min_tokens=min(parameters.min_tokens, parameters.budget) if plain else 0,
        # The end tokens are ours: a model's folder may name others in places that only vLLM reads.
        ignore_eos=True,
        stop_token_ids=[*ends, *parameters.stop_ids],
        logprobs=parameters.logprobs,
        detokenize=False,
        # Told of every token the front end works as often, on a processor that the engine's own processes want too.
        output_kind=RequestOutputKind.DELTA if work.pieces or parameters.stops else RequestOutputKind.FINAL_ONLY,
        extra_args=None if grammar is None else {MASK_KEY: _masks(parameters, grammar).to_dict()},
    )


def _masks(parameters: Parameters, grammar: str) -> MaskRequest:
    return MaskRequest(grammar, shortest=parameters.ending == "freeze", ends_from=parameters.min_tokens)


def search_params(work: Work, request: str, grammar: str | None, begun: Sequence[int]) -> SamplingParams:
    """Sampling parameters of a search, for the first row; `begun`: see `SearchRequest`. The work's parameters have a
    seed.
    """
    over_text = isinstance(work.grammar, ForcedText) and work.parameters.jump_forward
    parameters = replace(work.parameters, jump_forward="text" if over_text else bool(work.parameters.jump_forward))
    row = SearchRequest(request, grammar, parameters, tuple(begun))
    return SamplingParams(
        temperature=0.0,
        max_tokens=work.parameters.budget,
        ignore_eos=True,
        detokenize=False,
        output_kind=RequestOutputKind.DELTA,
        extra_args={KEY: row.to_dict(), BEAM: request},
    )
