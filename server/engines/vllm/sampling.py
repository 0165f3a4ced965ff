"""How one request is sampled, in vLLM's words.

Under a constraint, or with a seed, the worker's filter chooses the token and leaves vLLM nothing else to choose. vLLM's
own seeds are not used: on a processor, a request that has one can end the engine.
"""

from __future__ import annotations

import secrets

from vllm import SamplingParams
from vllm.sampling_params import RequestOutputKind

from grammar_cache.vocabulary import Vocabulary
from server.backend import Work


def sampling_params(work: Work, grammar: str | None, vocabulary: Vocabulary) -> SamplingParams:
    """`grammar`: the key that the workers know it by."""
    parameters = work.parameters
    filtered = grammar is not None or parameters.seed is not None
    return SamplingParams(
        temperature=0.0 if filtered else parameters.temperature,
        top_p=1.0 if filtered else parameters.top_p,
        top_k=0 if filtered else parameters.top_k,
        max_tokens=parameters.budget,
        # The end tokens are ours: a model's folder may name others in places that only vLLM reads.
        ignore_eos=True,
        stop_token_ids=list(vocabulary.stop_ids),
        detokenize=False,
        output_kind=RequestOutputKind.DELTA,
        extra_args={"swyb": _for_the_filter(work, grammar)} if filtered else None,
    )


def _for_the_filter(work: Work, grammar: str | None) -> dict[str, object]:
    parameters = work.parameters
    return {
        "mode": "draw",
        "grammar": grammar,
        "budget": parameters.budget,
        "prompt_tokens": len(work.prompt),
        "temperature": parameters.temperature,
        "top_p": parameters.top_p,
        "top_k": parameters.top_k,
        # Every rank has to draw the same.
        "seed": secrets.randbits(63) if parameters.seed is None else parameters.seed,
    }
