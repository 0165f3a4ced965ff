"""Interfaces that the filter expects of vLLM, asked of vLLM itself where it is installed: the fakes stand for nothing
else.
"""

from __future__ import annotations

import dataclasses
from importlib.util import find_spec

import pytest

from server.backends.vllm.wire.requests import NEUTRAL
from tests.server.backends.vllm import fakes

pytestmark = [
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed"),
    pytest.mark.filterwarnings("default"),  # its own are not ours to mend
]
NAME = "server.backends.vllm.worker.filter:BudgetFilter"


def test_both_loaders_take_the_filter() -> None:
    """Loaders of the older model runner and of the newer one take the filter."""
    from vllm.v1.sample.logits_processor import _load_logitsprocs_by_fqcns
    from vllm.v1.worker.gpu.sample.logits_processor.loader import _load_v2_logitsprocs_by_fqcns

    [v1], [v2] = _load_logitsprocs_by_fqcns([NAME]), _load_v2_logitsprocs_by_fqcns([NAME])
    assert v1 is v2
    assert not v1.__abstractmethods__


def test_batches_change_as_they_do_here() -> None:
    from vllm.v1.sample.logits_processor.interface import BatchUpdate, MoveDirectionality

    names = [field.name for field in dataclasses.fields(BatchUpdate)]
    assert names == [field.name for field in dataclasses.fields(fakes.BatchUpdate)]
    assert [way.name for way in MoveDirectionality] == [way.name for way in fakes.MoveDirectionality]


def test_slots_are_read_as_they_are_here() -> None:
    from vllm.v1.worker.gpu.sample.logits_processor.interface import LogitsContext

    assert "idx_mapping_np" in {field.name for field in dataclasses.fields(LogitsContext)}


def test_sampling_parameters_have_the_names_that_are_checked() -> None:
    """Sampling parameters have the checked names, at values that do nothing."""
    from vllm import SamplingParams

    made = SamplingParams()
    assert made.extra_args is None
    for name, value in NEUTRAL.items():
        assert getattr(made, name) in (value, None, [], {})
