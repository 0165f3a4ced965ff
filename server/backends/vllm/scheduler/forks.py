"""Forks of beams: a beam that begins as another one has the other's memory, so that nothing of its text is computed
again.

Full blocks are shared, as vLLM's own cache of prefixes does it. The last, half full one is copied by vLLM before the
step: its memory has that for hits of the cache that end inside a block, which this here is made to look like.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from math import ceil
from typing import Any

from vllm.v1.core.kv_cache_manager import KVCacheBlocks
from vllm.v1.core.single_type_kv_cache_manager import FullAttentionManager
from vllm.v1.request import Request, RequestStatus

from server.backends.vllm.wire.requests import BEAM


def forked(scheduler: Any, parent: Request, tokens: Sequence[int], name: str) -> Request:
    """A running request over what `parent` has computed so far and some tokens, at least one in all to compute.

    `scheduler`: vLLM's, which is to schedule it next. `name`: of its own; in vLLM, too.
    """
    sampling = copy(parent.sampling_params)
    sampling.extra_args = {BEAM: name}
    text = [*parent.all_token_ids[: parent.num_computed_tokens], *tokens]
    made = Request(
        name,
        text,
        sampling,
        None,
        client_index=parent.client_index,
        arrival_time=parent.arrival_time,
        cache_salt=parent.cache_salt,
        priority=parent.priority,
    )
    made.block_hashes = parent.block_hashes[: parent.num_computed_tokens // scheduler.hash_block_size]
    made._block_hasher = parent._block_hasher
    made.update_block_hashes()
    blocks, made.num_computed_tokens = _found(scheduler, made, parent)
    scheduler.kv_cache_manager.coordinator.allocate_new_computed_blocks(
        name, blocks.blocks, num_local_computed_tokens=made.num_computed_tokens, num_external_computed_tokens=0
    )
    made.status = RequestStatus.RUNNING
    scheduler.requests[name] = made
    scheduler.running.append(made)
    return made


def _found(scheduler: Any, request: Request, parent: Request) -> tuple[KVCacheBlocks, int]:
    """Blocks with computed tokens, and how many tokens these are: the parent's, or what vLLM itself looks up."""
    managers = scheduler.kv_cache_manager.coordinator.single_type_managers
    if len(managers) == 1 and type(managers[0]) is FullAttentionManager and managers[0].enable_caching:
        [manager] = managers
        # At least the last token of the whole text is computed: its logits are what the step is for.
        count = min(parent.num_computed_tokens, request.num_tokens - 1)
        return KVCacheBlocks((manager.req_to_blocks[parent.request_id][: ceil(count / manager.block_size)],)), count
    blocks, count, _ = scheduler.kv_cache_manager.get_computed_blocks(request)
    return blocks, count
