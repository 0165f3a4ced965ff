"""Memory that a beam takes over from another, with vLLM's own bookkeeping."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from server.backends.vllm.wire.requests import BEAM
from tests.server.backends.vllm.conftest import MakeEngine

BLOCK = 16


class Memory:
    """vLLM's manager of 20 blocks, and as much of its scheduler as is asked."""

    def __init__(self, *, caching: bool = True) -> None:
        import torch
        from vllm.v1.core.kv_cache_manager import KVCacheManager
        from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec

        spec = FullAttentionSpec(block_size=BLOCK, num_kv_heads=1, head_size=8, dtype=torch.float32)
        config = KVCacheConfig(20, [], [KVCacheGroupSpec(["layer"], spec)])
        self.kv_cache_manager = KVCacheManager(
            config, max_model_len=256, scheduler_block_size=BLOCK, hash_block_size=BLOCK, enable_caching=caching
        )
        self.requests: dict[str, Any] = {}
        self.running: list[Any] = []
        self.hash_block_size = BLOCK

    @property
    def free(self) -> int:
        return int(self.kv_cache_manager.block_pool.get_num_free_blocks())

    def request(self, name: str, tokens: list[int]) -> Any:
        from vllm import SamplingParams
        from vllm.utils.hashing import sha256
        from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
        from vllm.v1.request import Request

        init_none_hash(sha256)
        hashes = get_request_block_hasher(BLOCK, sha256)
        sampling = SamplingParams(max_tokens=9, extra_args={"other": 1})
        return Request(name, tokens, sampling, None, block_hasher=hashes, client_index=3)

    def step(self, request: Any) -> list[int]:
        """The blocks of all its tokens, which are computed then."""
        assert self.kv_cache_manager.allocate_slots(request, request.num_tokens - request.num_computed_tokens)
        request.num_computed_tokens = request.num_tokens
        [ids] = self.kv_cache_manager.get_block_ids(request.request_id)
        return list(ids)

    def copies(self) -> list[tuple[int, int]]:
        found, retained = self.kv_cache_manager.take_kv_cache_block_copies()
        self.kv_cache_manager.block_pool.free_blocks(retained)
        return [tuple(copy) for copy in found]


@pytest.fixture
def memory(make_engine: MakeEngine) -> Memory:
    return Memory()


def forked(memory: Memory, parent: Any, tokens: list[int], name: str = "beam") -> Any:
    from server.backends.vllm.scheduler.forks import forked

    return forked(memory, parent, tokens, name)


@pytest.mark.parametrize("more", [[7], [7, 8, 9], list(range(40))])
@pytest.mark.parametrize("shared", [1, 15, 16, 17, 40, 48])
def test_a_beam_takes_over_all_that_is_computed(memory: Memory, shared: int, more: list[int]) -> None:
    """Full blocks are the other's; the half full one is copied; and all are free again in the end."""
    free, text = memory.free, list(range(100, 100 + shared))
    blocks = memory.step(parent := memory.request("parent", text))
    parent.append_output_token_ids([5])  # sampled, and not computed
    beam = forked(memory, parent, more)
    assert list(beam.all_token_ids) == text + more
    assert beam.num_computed_tokens == shared
    own = memory.step(beam)
    full = shared // BLOCK
    assert own[:full] == blocks[:full] and len(own) == -(-(shared + len(more)) // BLOCK)
    assert not set(own[full:]) & set(blocks)
    assert memory.copies() == ([(blocks[full], own[full])] if shared % BLOCK else [])
    for request in (parent, beam):
        memory.kv_cache_manager.free(request)
    assert memory.free == free


@pytest.mark.parametrize("shared", [1, 16, 17, 33])
def test_the_last_token_is_always_computed(memory: Memory, shared: int) -> None:
    """The last token is computed where a beam begins as what another one is, too."""
    memory.step(parent := memory.request("parent", list(range(shared))))
    beam = forked(memory, parent, [])
    assert (beam.num_tokens, beam.num_computed_tokens) == (shared, shared - 1)
    memory.step(beam)


def test_the_parent_may_go_before_the_step(memory: Memory) -> None:
    """A parent's memory is kept until it is copied; a beam that goes as well leaves nothing behind."""
    free = memory.free
    memory.step(parent := memory.request("parent", list(range(20))))
    beam, other = forked(memory, parent, [1]), forked(memory, parent, [2], "other")
    memory.kv_cache_manager.free(parent)
    memory.kv_cache_manager.free(other)
    memory.step(beam)
    assert len(memory.copies()) == 1
    memory.kv_cache_manager.free(beam)
    assert memory.free == free


def test_it_runs_under_its_own_name(memory: Memory) -> None:
    """A fork runs for the same client, with the same hashes as if it had come from outside, and is no search of its
    own.
    """
    from vllm.v1.request import RequestStatus

    memory.step(parent := memory.request("parent", list(range(40))))
    beam = forked(memory, parent, list(range(20)))
    assert memory.requests["beam"] is beam and memory.running == [beam]
    assert beam.status == RequestStatus.RUNNING
    assert (beam.client_index, beam.priority, beam.arrival_time) == (3, parent.priority, parent.arrival_time)
    assert beam.sampling_params.extra_args == {BEAM: "beam"}
    assert parent.sampling_params.extra_args == {"other": 1}
    assert beam.block_hashes == memory.request("same", list(beam.all_token_ids)).block_hashes
    assert len(beam.block_hashes) == 3


def test_otherwise_vllm_looks_it_up(make_engine: MakeEngine) -> None:
    """A fork is computed anew where no memory is shared."""
    alone = Memory(caching=False)
    alone.step(parent := alone.request("parent", [1, 2, 3]))
    beam = forked(alone, parent, [4])
    assert beam.num_computed_tokens == 0
    alone.step(beam)
    assert alone.copies() == []


def test_vllm_is_as_it_was_read(make_engine: MakeEngine) -> None:
    """vLLM's workers copy blocks before a step, of both kinds, and take in requests that they don't know."""
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.worker.gpu import model_runner
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner

    assert "self.kv_cache_manager.take_kv_cache_block_copies()" in inspect.getsource(Scheduler.schedule)
    assert "self.requests: dict[str, Request] = {}" in inspect.getsource(Scheduler)
    for runner in (GPUModelRunner, model_runner.GPUModelRunner):
        source = inspect.getsource(runner)
        assert "copy_kv_cache_blocks_inplace(" in source
        assert "in scheduler_output.scheduled_new_reqs" in source
