"""Kept prompts against a list of them, searched one by one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from server.engines.hugging_face.kv import KeyValueRows
from server.engines.hugging_face.prefix_cache import SHORTEST_PREFIX, PrefixCache, _Branch

HEADS, DIMENSION, LAYERS = 2, 3, 2
COLUMN_BYTES = 2 * LAYERS * HEADS * DIMENSION * 4
LOGITS_BYTES = 5 * 4
PLENTY = 1 << 40

Prompt = tuple[int, ...]


def columns_of(prompt: Prompt) -> torch.Tensor:
    """Columns that a model yields: each depends on all the tokens up to its own. [1, heads, tokens, dimension]"""
    marks = [float(hash(prompt[: stop + 1]) % 1_000_003) for stop in range(len(prompt))]
    return torch.tensor(marks)[None, None, :, None] + torch.arange(HEADS * DIMENSION).reshape(1, HEADS, 1, DIMENSION)


def logits_of(prompt: Prompt) -> NDArray[np.float32]:
    return np.full(LOGITS_BYTES // 4, hash(prompt) % 1_000_003, np.float32)


def keep(cache: PrefixCache, prompt: Prompt) -> KeyValueRows:
    """Keeps a prompt as the engine has it: a row among others, with padding on its left and more text behind."""
    column = columns_of((*prompt, 1, 2))
    noise = torch.full((1, HEADS, 3, DIMENSION), torch.nan)
    row = torch.cat([noise, column], dim=2)
    keys = torch.cat([torch.full_like(row, torch.nan), row])
    rows = KeyValueRows(((keys, -keys),) * LAYERS, row.shape[2], (0, 3), (row.shape[2],) * 2)
    logits = logits_of(prompt)
    cache.keep(prompt, (rows, 1), logits)
    logits[:] = np.nan  # it belongs to the caller
    return rows


def found_length(cache: PrefixCache, prompt: Prompt) -> int:
    """Tokens known of a prompt, all of whose columns are checked."""
    known = cache.find(prompt)
    if known is None:
        return 0
    assert (known.rows.starts, known.rows.stops) == ((0,), (known.length,))
    expected = columns_of(prompt[: known.length])
    for keys, values in known.rows.layers:
        assert torch.equal(keys, expected)
        assert torch.equal(values, -expected)
    assert (known.logits is not None) == (known.length == len(prompt))
    if known.logits is not None:
        np.testing.assert_array_equal(known.logits, logits_of(prompt))
    return known.length


def common_length(one: Prompt, other: Prompt) -> int:
    return max(length for length in range(min(len(one), len(other)) + 1) if one[:length] == other[:length])


def expected_length(kept: list[Prompt], prompt: Prompt) -> int:
    if prompt in kept:
        return len(prompt)
    longest = max((common_length(other, prompt) for other in kept), default=0)
    longest = min(longest, len(prompt) - 1)
    return longest if longest >= SHORTEST_PREFIX else 0


@st.composite
def prompts(draw: st.DrawFn) -> Prompt:
    """Blocks of two kinds and a few odd tokens, so that prompts begin alike, for a while."""
    blocks = draw(st.lists(st.sampled_from([(1,) * 9, (2,) * 9, (1, 2)]), max_size=5))
    return (*(token for block in blocks for token in block), *draw(st.lists(st.integers(1, 3), min_size=1, max_size=2)))


@given(st.lists(prompts(), max_size=12), st.lists(prompts(), max_size=6))
def test_the_longest_common_beginning_is_found(kept: list[Prompt], asked: list[Prompt]) -> None:
    """Whatever was kept before, a prompt finds what a search through all kept prompts finds, column by column."""
    cache = PrefixCache(PLENTY)
    for number, prompt in enumerate(kept):
        assert found_length(cache, prompt) == expected_length(kept[:number], prompt)
        keep(cache, prompt)
    for prompt in (*asked, *kept):
        assert found_length(cache, prompt) == expected_length(kept, prompt)


@given(st.lists(prompts(), max_size=12))
def test_common_beginnings_are_kept_once(kept: list[Prompt]) -> None:
    """Memory is that of the distinct beginnings of all prompts, and of one row of logits for each prompt."""
    cache = PrefixCache(PLENTY)
    for prompt in kept:
        keep(cache, prompt)
    beginnings = {prompt[:stop] for prompt in kept for stop in range(1, len(prompt) + 1)}
    assert cache.bytes == len(beginnings) * COLUMN_BYTES + len(set(kept)) * LOGITS_BYTES


def storage_bytes(branch: _Branch) -> int:
    """Bytes of the tensors of a branch and those behind it, whether a view shows all of it or not."""
    own: int = sum(tensor.untyped_storage().nbytes() for layer in branch.layers for tensor in layer)
    logits = 0 if branch.logits is None else branch.logits.nbytes
    return own + logits + sum(storage_bytes(child) for child in branch.children.values())


@given(st.lists(prompts(), max_size=12), st.integers(20, 80))
def test_the_memory_is_what_is_told(kept: list[Prompt], columns: int) -> None:
    """`bytes` counts what the tensors hold, not what they show of it, after splits and drops too."""
    cache = PrefixCache(columns * COLUMN_BYTES)
    for prompt in kept:
        keep(cache, prompt)
        assert cache.bytes == storage_bytes(cache._root)
        assert all(child.parent is branch for branch in branches(cache._root) for child in branch.children.values())


def branches(branch: _Branch) -> list[_Branch]:
    return [branch, *(deeper for child in branch.children.values() for deeper in branches(child))]


@given(st.lists(prompts(), max_size=20), st.integers(0, 80))
def test_the_bound_holds(kept: list[Prompt], columns: int) -> None:
    """The memory is within the limit after every prompt, what is found is right, and the newest is there if it fits."""
    limit = columns * COLUMN_BYTES
    cache = PrefixCache(limit)
    for number, prompt in enumerate(kept):
        keep(cache, prompt)
        assert 0 <= cache.bytes <= limit
        fits = len(prompt) * COLUMN_BYTES + LOGITS_BYTES <= limit
        assert found_length(cache, prompt) == len(prompt) or not fits
        for other in kept[:number]:
            assert found_length(cache, other) <= expected_length(kept, other)


def test_what_was_used_last_stays() -> None:
    """A third prompt takes the place of the one that was not asked for since, where there is room for two."""
    first, second, third = (1,) * 20, (2,) * 20, (3,) * 20
    cache = PrefixCache(2 * (20 * COLUMN_BYTES + LOGITS_BYTES))
    keep(cache, first)
    keep(cache, second)
    cache.find(first)
    keep(cache, third)
    assert [found_length(cache, prompt) for prompt in (first, second, third)] == [20, 0, 20]


def test_ends_go_before_beginnings() -> None:
    """The beginning of many prompts outlives the ends of those that are asked for no more."""
    common = (7,) * 30
    cache = PrefixCache(50 * COLUMN_BYTES)
    for end in range(20):
        keep(cache, (*common, *(end,) * 10))
    assert found_length(cache, (*common, 99)) == 30
    assert found_length(cache, (*common, *(0,) * 10)) == 30


def test_a_prompt_too_large_changes_nothing() -> None:
    """One that can't be kept drives out nobody."""
    cache = PrefixCache(40 * COLUMN_BYTES)
    keep(cache, (1,) * 20)
    before = cache.bytes
    keep(cache, (2,) * 41)
    assert (cache.bytes, found_length(cache, (1,) * 20), found_length(cache, (2,) * 41)) == (before, 20, 0)


def test_without_memory_nothing_is_kept() -> None:
    """A limit of 0 turns the cache off."""
    cache = PrefixCache(0)
    keep(cache, (1,) * 20)
    assert (cache.bytes, cache.find((1,) * 20)) == (0, None)


def test_nothing_is_shared_with_the_outside() -> None:
    """Overwriting what was kept or found changes nothing that is kept, and no tensor keeps a larger one alive."""
    cache = PrefixCache(PLENTY)
    for end in (2, 3):
        for layer in keep(cache, (*(1,) * 20, end)).layers:
            for tensor in layer:
                tensor.zero_()
    for prompt in ((*(1,) * 20, 2), (*(1,) * 20, 4)):
        known = cache.find(prompt)
        assert known is not None
        for tensor in (tensor for layer in known.rows.layers for tensor in layer):
            assert tensor.untyped_storage().nbytes() == known.length * HEADS * DIMENSION * 4
            tensor.zero_()
        if known.logits is not None:
            known.logits[:] = 0
    assert found_length(cache, (*(1,) * 20, 2)) == 21
    assert found_length(cache, (*(1,) * 20, 4)) == 20


@pytest.mark.parametrize("length", [1, SHORTEST_PREFIX - 1])
def test_a_whole_prompt_is_found_whatever_its_length(length: int) -> None:
    """A short prompt is known to its like, and of no use to one that goes on."""
    cache = PrefixCache(PLENTY)
    keep(cache, (5,) * length)
    assert found_length(cache, (5,) * length) == length
    assert found_length(cache, (5,) * length + (6,)) == 0
