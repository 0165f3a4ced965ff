"""Keys and values of prompts that were computed, kept for the prompts that begin like them.

A tree: a branch holds the columns of some tokens, and what goes on differently from there are its children. What
prompts have in common is so kept once, however many they are. The tensors belong to the tree alone: what is kept is
copied in and what is found is copied out, so that nothing else can write into them or keep them alive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile

import numpy as np
import torch
from numpy.typing import NDArray

from server.engines.hugging_face.kv import KeyValueRows, LayerTensors, RowReference

SHORTEST_PREFIX = 16
"""Tokens in common that are worth a look; a whole prompt is found whatever its length."""


@dataclass(frozen=True, slots=True)
class KnownPrefix:
    """Prefix of prompts: one row of keys and values. `logits` after it, if it is the whole prompt."""

    rows: KeyValueRows
    logits: NDArray[np.float32] | None

    @property
    def length(self) -> int:
        """Tokens of the prompt that need not be computed."""
        return self.rows.length(0)


@dataclass(slots=True, eq=False)
class _Branch:
    """Columns of `tokens`, which follow those of `parent`; `children` by their first token."""

    tokens: tuple[int, ...]
    layers: tuple[LayerTensors, ...]
    parent: _Branch | None
    children: dict[int, _Branch] = field(default_factory=dict)
    logits: NDArray[np.float32] | None = None
    """Logits after the last token, if a prompt ended here."""
    used: int = 0

    @property
    def bytes(self) -> int:
        columns = sum(int(tensor.nbytes) for layer in self.layers for tensor in layer)
        return columns + (0 if self.logits is None else self.logits.nbytes)

    def leaves(self) -> Iterator[_Branch]:
        waiting = [self]
        while waiting:
            branch = waiting.pop()
            waiting.extend(branch.children.values())
            if not branch.children:
                yield branch


class PrefixCache:
    """Holds at most `limit` bytes; those unused for longest go first, from the ends of prompts. One thread's."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._root = _Branch((), (), None)
        self._clock = count(1)
        self.bytes = 0
        """Memory held now."""

    def find(self, prompt: Sequence[int]) -> KnownPrefix | None:
        """The longest known beginning of a prompt. It is the whole prompt only if the logits after it are known."""
        path, length = self._follow(prompt)
        whole = length == len(prompt) == sum(len(branch.tokens) for branch in path)
        logits = path[-1].logits if whole else None
        if logits is None:
            # The last token is left to be computed: nothing else yields the logits after it.
            length = min(length, len(prompt) - 1)
            if length < SHORTEST_PREFIX:
                return None
        self._touch(path)
        rows = KeyValueRows(_joined(path, length), length, (0,), (length,))
        return KnownPrefix(rows, None if logits is None else logits.copy())

    def keep(self, prompt: Sequence[int], reference: RowReference, logits: NDArray[np.float32]) -> None:
        """Copies the columns of a prompt, with which the row begins, and the logits after it: [model's tokens]."""
        source, row = reference
        if len(prompt) * source.column_bytes + logits.nbytes > self._limit:
            return
        path, length = self._follow(prompt)
        unneeded = sum(len(branch.tokens) for branch in path) - length
        if unneeded:
            path[-1] = _split(path[-1], len(path[-1].tokens) - unneeded)
        if length < len(prompt):
            first = source.starts[row]
            columns = slice(first + length, first + len(prompt))
            layers = tuple(
                (keys[row, None, :, columns], values[row, None, :, columns]) for keys, values in source.layers
            )
            path.append(_grow(path[-1], tuple(prompt[length:]), layers))
            self.bytes += path[-1].bytes
        if path[-1].logits is None:
            path[-1].logits = logits.copy()
            self.bytes += logits.nbytes
        self._touch(path)
        while self.bytes > self._limit:
            self._drop(min(self._root.leaves(), key=lambda leaf: leaf.used))

    def _follow(self, prompt: Sequence[int]) -> tuple[list[_Branch], int]:
        """The branches along a prompt, from the root, and their tokens in common; the last may go on differently."""
        path, length = [self._root], 0
        while length < len(prompt) and (branch := path[-1].children.get(prompt[length])) is not None:
            pairs = zip(branch.tokens, prompt[length:], strict=False)
            common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            path.append(branch)
            length += common
            if common < len(branch.tokens):
                break
        return path, length

    def _touch(self, path: list[_Branch]) -> None:
        now = next(self._clock)
        for branch in path:
            branch.used = now

    def _drop(self, leaf: _Branch) -> None:
        assert leaf.parent is not None, "an empty tree holds no bytes"
        del leaf.parent.children[leaf.tokens[0]]
        self.bytes -= leaf.bytes


def _grow(parent: _Branch, tokens: tuple[int, ...], layers: Sequence[LayerTensors]) -> _Branch:
    """A new child, with copies of the tensors."""
    branch = _Branch(tokens, _copied(layers), parent)
    parent.children[tokens[0]] = branch
    return branch


def _split(branch: _Branch, at: int) -> _Branch:
    """Moves the first `at` tokens of a branch to a new one in front of it, which it returns."""
    assert branch.parent is not None, "the root has no tokens to split"
    first = _grow(branch.parent, branch.tokens[:at], _columns(branch.layers, 0, at))
    branch.layers = _copied(_columns(branch.layers, at, len(branch.tokens)))
    branch.tokens = branch.tokens[at:]
    branch.parent = first
    first.children[branch.tokens[0]] = branch
    return first


def _copied(layers: Sequence[LayerTensors]) -> tuple[LayerTensors, ...]:
    # A view would keep all the columns that it was taken from.
    return tuple((keys.clone(), values.clone()) for keys, values in layers)


def _columns(layers: Sequence[LayerTensors], start: int, stop: int) -> tuple[LayerTensors, ...]:
    return tuple((keys[:, :, start:stop], values[:, :, start:stop]) for keys, values in layers)


def _joined(path: Sequence[_Branch], length: int) -> tuple[LayerTensors, ...]:
    """The first `length` columns along a path, as new tensors."""
    parts = []
    for branch in path[1:]:
        parts.append(_columns(branch.layers, 0, min(length, len(branch.tokens))))
        length -= len(branch.tokens)
    return tuple(
        (torch.cat([keys for keys, _ in layer], dim=2), torch.cat([values for _, values in layer], dim=2))
        for layer in zip(*parts, strict=True)
    )
