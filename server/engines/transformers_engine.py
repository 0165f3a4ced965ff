"""The engine for any causal language model in a local folder, on the processor, with `transformers`.

Knows sequences, their rows and their failures; how the model is called is `CausalModel`'s business, and how
a chat becomes tokens is `ChatEncoder`'s.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoConfig

from grammar_cache.vocabulary import Vocabulary
from server.engines.batching import Demand, batches
from server.engines.causal_model import CausalModel
from server.engines.chat import ChatEncoder
from server.engines.contract import Engine, EngineError, Forward, Message, SequenceId
from server.engines.kv import KeyValueRows, RowReference, gather
from server.engines.threads import compute_threads

Dtype: TypeAlias = Literal["auto", "float32", "bfloat16"]
Logits: TypeAlias = NDArray[np.float32]

SHARED_CALL_BYTES = 1 << 30
"""Keys and values of one call that several sequences share."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Sequence:
    """`picks[i]` is row i of the last step, in `rows`, which it may share with other sequences."""

    prompt: tuple[int, ...]
    rows: KeyValueRows | None = None
    picks: tuple[int, ...] = ()

    def reference(self, row: int) -> RowReference:
        if self.rows is None or not 0 <= row < len(self.picks):
            raise ValueError(f"there is no row {row} to extend: the step before had {len(self.picks)}")
        return self.rows, self.picks[row]


class TransformersEngine(Engine):
    """See `Engine`. Sequences that are stepped together share model calls where that saves time."""

    def __init__(
        self,
        path: Path,
        *,
        name: str | None = None,
        threads: int | None = None,
        dtype: Dtype = "auto",
        cache: Path | None = None,
    ) -> None:
        """`cache`: the folder for what is made of the tokenizer; without one it is made at each start."""
        if not path.is_dir():
            raise ValueError(f"{path} is not a model's folder")
        _set_threads(compute_threads(threads))
        self.name = name or path.name
        self.vocabulary = Vocabulary.from_pretrained(path, cache=cache)
        self._chat = ChatEncoder(path)
        self._model = CausalModel(path, resolve_dtype(dtype, path))
        self.context_window = self._model.context_window
        self._sequences: dict[SequenceId, _Sequence] = {}
        self._ids = count(1)

    def encode(self, messages: Sequence[Message]) -> list[int]:
        return self._chat.encode(messages)

    def open(self, prompt: Sequence[int]) -> SequenceId:
        if not 0 < len(prompt) <= self.context_window:
            raise ValueError(f"a prompt has 1 to {self.context_window} tokens, not {len(prompt)}")
        if not all(0 <= token < self._model.tokens for token in prompt):
            raise ValueError("the prompt holds a token id that the model doesn't have")
        sequence = next(self._ids)
        self._sequences[sequence] = _Sequence(tuple(prompt))
        return sequence

    def step(self, forwards: Sequence[Forward]) -> list[Logits | EngineError]:
        if len({forward.sequence for forward in forwards}) != len(forwards):
            raise ValueError("a sequence takes one step at a time")
        results: dict[int, Logits | EngineError] = {}
        ready: list[int] = []
        for index, forward in enumerate(forwards):
            try:
                if self._check(forward):
                    results[index] = self._prefill(forward)
                else:
                    ready.append(index)
            except Exception as error:  # whatever fails, fails one request only
                results[index] = self._drop(forward, error)
        for batch in self._batches([forwards[index] for index in ready]):
            members = [ready[at] for at in batch]
            results.update(zip(members, self._advance([forwards[index] for index in members]), strict=True))
        return [results[index] for index in range(len(forwards))]

    def close(self, sequence: SequenceId) -> None:
        self._sequences.pop(sequence, None)

    def shutdown(self) -> None:
        self._sequences.clear()
        del self._model

    def _check(self, forward: Forward) -> bool:
        """Whether this is the sequence's first step. Raises ValueError if the forward breaks the contract."""
        if (sequence := self._sequences.get(forward.sequence)) is None:
            raise ValueError(f"sequence {forward.sequence} is not open")
        if sequence.rows is None:
            if forward.parents != (0,) or forward.tokens != ((),):
                raise ValueError("the first step of a sequence asks for the logits after its prompt")
            return True
        if not forward.parents or len(forward.parents) != len(forward.tokens):
            raise ValueError(f"{len(forward.parents)} parents with {len(forward.tokens)} lists of tokens")
        for parent, tokens in zip(forward.parents, forward.tokens, strict=True):
            rows, row = sequence.reference(parent)
            if not tokens or not all(0 <= token < self._model.tokens for token in tokens):
                raise ValueError(f"a row can't be extended by the tokens {tokens}")
            if rows.length(row) + len(tokens) > self.context_window:
                raise ValueError(f"a row would leave the context window of {self.context_window} tokens")
        return False

    def _batches(self, forwards: Sequence[Forward]) -> list[list[int]]:
        if not forwards:
            return []
        demands = [self._demand(forward) for forward in forwards]
        rows, _ = self._references(forwards[0])[0]
        return batches(demands, SHARED_CALL_BYTES // rows.column_bytes)

    def _demand(self, forward: Forward) -> Demand:
        lengths = [len(tokens) for tokens in forward.tokens]
        context = max(rows.length(row) for rows, row in self._references(forward))
        return Demand(len(lengths), context, max(lengths), sum(lengths))

    def _references(self, forward: Forward) -> list[RowReference]:
        sequence = self._sequences[forward.sequence]
        return [sequence.reference(parent) for parent in forward.parents]

    def _prefill(self, forward: Forward) -> Logits:
        sequence = self._sequences[forward.sequence]
        logits, rows = self._model.extend(None, [sequence.prompt])
        sequence.rows, sequence.picks = rows, (0,)
        return self._fit(logits)

    def _advance(self, forwards: Sequence[Forward]) -> list[Logits | EngineError]:
        """One model call for all; if it fails, one for each, which spares those that are not to blame."""
        try:
            return list(self._extend(forwards))
        except Exception as error:  # as in `step`
            if len(forwards) == 1:
                return [self._drop(forwards[0], error)]
            logger.warning("a shared step failed (%s); its %d sequences step alone", error, len(forwards))
        return [result for forward in forwards for result in self._advance([forward])]

    def _extend(self, forwards: Sequence[Forward]) -> list[Logits]:
        references = [reference for forward in forwards for reference in self._references(forward)]
        chunks = [tokens for forward in forwards for tokens in forward.tokens]
        logits, rows = self._model.extend(gather(references), chunks)
        logits = self._fit(logits)
        results = []
        start = 0
        for forward in forwards:
            stop = start + len(forward.parents)
            sequence = self._sequences[forward.sequence]
            sequence.rows, sequence.picks = rows, tuple(range(start, stop))
            results.append(logits[start:stop])
            start = stop
        return results

    def _fit(self, logits: Logits) -> Logits:
        """As wide as the vocabulary: models pad their output, and tokenizers have ids that no model knows."""
        missing = self.vocabulary.size - logits.shape[1]
        if missing <= 0:
            return logits[:, : self.vocabulary.size]
        return np.pad(logits, ((0, 0), (0, missing)), constant_values=-np.inf)

    def _drop(self, forward: Forward, cause: Exception) -> EngineError:
        logger.warning("sequence %d failed", forward.sequence, exc_info=cause)
        self.close(forward.sequence)
        error = EngineError(f"the model failed this request: {cause}")
        error.__cause__ = cause
        return error


def resolve_dtype(dtype: Dtype, path: Path) -> torch.dtype:
    """ "auto" is bfloat16 for half-precision weights on a processor that multiplies it; else float32.

    With the embedded model bfloat16 saves a third of a step, but logits then depend on how many rows share a
    call: between 1 row and 8 the best token changed on 4 of 25 steps, in float32 on none.
    """
    if dtype != "auto":
        return torch.float32 if dtype == "float32" else torch.bfloat16
    published = AutoConfig.from_pretrained(path, local_files_only=True, trust_remote_code=False).dtype
    processor = Path("/proc/cpuinfo")
    flags = processor.read_text().split() if processor.exists() else []
    native = "avx512_bf16" in flags or "amx_bf16" in flags
    return torch.bfloat16 if native and published in (torch.bfloat16, torch.float16) else torch.float32


def _set_threads(threads: int) -> None:
    torch.set_num_threads(threads)
    # One owner thread calls the model. torch takes this setting once, before its first parallel work.
    if torch.get_num_interop_threads() != 1:
        with suppress(RuntimeError):
            torch.set_num_interop_threads(1)
