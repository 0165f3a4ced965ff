"""What a beam that begins as another one takes over: the other's memory, so that nothing of its text is computed again.

Full blocks are shared, as vLLM's own cache of prefixes does it. The last, half full one is copied by vLLM before the
step: its scheduler has that for hits of the cache that end inside a block, which this here is made to look like.
"""

from __future__ import annotations

from itertools import takewhile
from math import ceil
from typing import Any, TypeAlias

from vllm.v1.core.kv_cache_manager import KVCacheBlocks
from vllm.v1.core.single_type_kv_cache_manager import FullAttentionManager
from vllm.v1.request import Request

BEGINS_AS = "swyb_begins_as"
"""The extra argument that names another request, by vLLM's own id of it."""

Hit: TypeAlias = tuple[KVCacheBlocks, int, int, bool]
"""As vLLM's scheduler has it: blocks, the tokens in them, and two values that other kinds of memory use."""


def taken_over(scheduler: Any, request: Request) -> Hit | None:
    """What `request` finds in the memory of the one that it begins as; None for what vLLM is to look up itself.

    `scheduler`: vLLM's. It is asked before the request's first step. The other one may have gone on, or be gone.
    """
    arguments = request.sampling_params.extra_args if request.sampling_params else None
    other = scheduler.requests.get((arguments or {}).get(BEGINS_AS))
    managers = scheduler.kv_cache_manager.coordinator.single_type_managers
    if other is None or len(managers) != 1 or type(managers[0]) is not FullAttentionManager:
        return None
    [manager] = managers
    if not manager.enable_caching or manager.block_size != scheduler.block_size:
        return None
    # Of the whole text at least the last token is computed: its logits are what the step is for.
    most = min(other.num_computed_tokens, request.num_tokens - 1)
    pairs = zip(other.all_token_ids[:most], request.all_token_ids[:most], strict=True)
    count = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    blocks = manager.req_to_blocks[other.request_id][: ceil(count / manager.block_size)]
    return (KVCacheBlocks((blocks,)), count, 0, False) if count else None
