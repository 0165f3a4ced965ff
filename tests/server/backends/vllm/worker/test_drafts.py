"""Parameters of drawing, spread over drafts."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch

pytestmark = [
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed"),
    pytest.mark.filterwarnings("default"),  # its own are not ours to mend
]


def test_each_draft_has_the_value_of_its_request() -> None:
    """Requests without drafts leave none, greedy ones divide by one, and types stay what they were."""
    from server.backends.vllm.worker.drafts import expanded

    ends = torch.tensor([2, 2, 5, 6], dtype=torch.int32)
    temperatures = expanded(torch.tensor([0.0, 0.7, 1.5, 0.25]), ends, 6, 0, 1)
    assert temperatures.tolist() == [1.0, 1.0, 1.5, 1.5, 1.5, 0.25]
    places = expanded(torch.tensor([5, 6, 0, 8], dtype=torch.int32), ends, 6)
    assert (places.tolist(), places.dtype) == ([5, 5, 0, 0, 0, 8], torch.int32)


def test_vllm_has_the_function_that_is_mended() -> None:
    """A version of vLLM without it would draw by its own kernel again, and nobody would know."""
    import inspect

    from vllm.v1.sample import rejection_sampler

    from server.backends.vllm.worker.drafts import expanded, mend

    theirs = rejection_sampler.expand_batch_to_tokens
    assert list(inspect.signature(theirs).parameters) == list(inspect.signature(expanded).parameters)
    assert "expand_batch_to_tokens(" in inspect.getsource(rejection_sampler.apply_sampling_constraints)
    try:
        mend()
        assert rejection_sampler.expand_batch_to_tokens is expanded
    finally:
        rejection_sampler.expand_batch_to_tokens = theirs
