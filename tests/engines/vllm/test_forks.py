"""What a beam takes over from another, with vLLM's own bookkeeping of memory."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.engines.vllm.conftest import MakeEngine

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
        self.block_size = BLOCK

    def request(self, name: str, tokens: list[int], begins_as: str | None = None) -> Any:
        from vllm import SamplingParams
        from vllm.utils.hashing import sha256
        from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
        from vllm.v1.request import Request

        from server.engines.vllm.forks import BEGINS_AS

        init_none_hash(sha256)
        sampling = SamplingParams(max_tokens=1, extra_args={BEGINS_AS: begins_as} if begins_as else None)
        hashes = get_request_block_hasher(BLOCK, sha256)
        made = Request(name, tokens, sampling, None, block_hasher=hashes)
        self.requests[name] = made
        return made

    def step(self, request: Any, hit: tuple[Any, int, int, bool] | None = None) -> list[int]:
        """The blocks of all its tokens, which are computed then."""
        blocks, count = (hit[0], hit[1]) if hit else (None, 0)
        new = request.num_tokens - request.num_computed_tokens - count
        assert self.kv_cache_manager.allocate_slots(request, new, count, blocks) is not None
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


def taken_over(memory: Memory, request: Any) -> tuple[Any, int, int, bool] | None:
    from server.engines.vllm.forks import taken_over

    return taken_over(memory, request)


@pytest.mark.parametrize("shared", [1, 15, 16, 17, 40, 48])
def test_a_beam_takes_over_all_but_its_own_tokens(memory: Memory, shared: int) -> None:
    """Full blocks are the other's; the half full one is copied; and all are free again in the end."""
    free = memory.kv_cache_manager.block_pool.get_num_free_blocks()
    text = list(range(100, 100 + shared))
    other = memory.request("other", text)
    blocks = memory.step(other)
    beam = memory.request("beam", [*text, 7], "other")
    hit = taken_over(memory, beam)
    assert hit is not None and hit[1:] == (shared, 0, False)
    own = memory.step(beam, hit)
    full = shared // BLOCK
    assert own[:full] == blocks[:full] and len(own) == full + 1
    assert not set(own[full:]) & set(blocks)
    assert memory.copies() == ([(blocks[full], own[full])] if shared % BLOCK else [])
    for request in (other, beam):
        memory.kv_cache_manager.free(request)
    assert memory.kv_cache_manager.block_pool.get_num_free_blocks() == free


def test_the_other_may_have_gone_on(memory: Memory) -> None:
    """What it has behind the common text isn't taken over, nor what it hasn't computed."""
    other = memory.request("other", [1, 2, 3, 4, 5])
    memory.step(other)
    other.append_output_token_ids([9])
    hit = taken_over(memory, memory.request("beam", [1, 2, 3, 8, 5, 6], "other"))
    assert hit is not None and hit[1] == 3
    hit = taken_over(memory, memory.request("longer", [1, 2, 3, 4, 5, 9, 10], "other"))
    assert hit is not None and hit[1] == 5


def test_the_last_token_is_always_computed(memory: Memory) -> None:
    memory.step(memory.request("other", [1, 2, 3]))
    hit = taken_over(memory, memory.request("same", [1, 2, 3], "other"))
    assert hit is not None and hit[1] == 2


def test_otherwise_vllm_looks_it_up(memory: Memory) -> None:
    """Where the other one is gone, isn't named or has nothing in common, and where no memory is shared."""
    memory.step(memory.request("other", [1, 2, 3]))
    assert taken_over(memory, memory.request("plain", [1, 2, 3, 4])) is None
    assert taken_over(memory, memory.request("orphan", [1, 2, 3, 4], "gone")) is None
    assert taken_over(memory, memory.request("stranger", [5, 2, 3, 4], "other")) is None
    alone = Memory(caching=False)
    alone.step(alone.request("other", [1, 2, 3]))
    assert taken_over(alone, alone.request("beam", [1, 2, 3, 4], "other")) is None
    alone.requests["other"].sampling_params = None
    assert taken_over(alone, alone.requests["other"]) is None


def test_vllms_scheduler_is_as_it_was_read(make_engine: MakeEngine) -> None:
    """It asks for hits there, and has its workers copy blocks before a step, of both kinds."""
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.worker.gpu import model_runner
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner

    source = inspect.getsource(Scheduler.schedule)
    assert "self._get_local_prefix_cache_hit(request)" in source
    assert "self.kv_cache_manager.take_kv_cache_block_copies()" in source
    assert "self.requests: dict[str, Request] = {}" in inspect.getsource(Scheduler)
    for runner in (GPUModelRunner, model_runner.GPUModelRunner):
        assert "copy_kv_cache_blocks_inplace(" in inspect.getsource(runner)
