"""The engine for any causal language model in a local folder, with `transformers`, on a GPU if torch sees one.

Knows sequences, their rows and their failures; how the model is called is `CausalModel`'s business, and how
a chat becomes tokens is `FolderModel`'s.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from server.engines.contract import Engine, EngineError, Forward, SequenceId
from server.engines.folder_model import FolderModel
from server.engines.hugging_face.batching import Demand, batches
from server.engines.hugging_face.causal_model import CausalModel
from server.engines.hugging_face.dtypes import Dtype, resolve_dtype
from server.engines.hugging_face.kv import KeyValueRows, RowReference, gather
from server.engines.hugging_face.prefix_cache import PrefixCache
from server.engines.hugging_face.threads import compute_threads

Logits: TypeAlias = NDArray[np.float32]

SHARED_CALL_BYTES = 1 << 30
"""Keys and values of one call that several sequences share."""

SHARED_REST = 64
"""Tokens after a known prefix that may share a call; with more, a prompt is computed alone, and known to the next."""

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


@dataclass(frozen=True, slots=True)
class _Extension:
    """Extension that a sequence adds to rows; no rows: a prompt from its start."""

    sequence: SequenceId
    references: tuple[RowReference, ...]
    chunks: tuple[tuple[int, ...], ...]

    @property
    def demand(self) -> Demand:
        lengths = [len(chunk) for chunk in self.chunks]
        context = max((rows.length(row) for rows, row in self.references), default=0)
        return Demand(len(lengths), context, max(lengths), sum(lengths))


class TransformersEngine(FolderModel, Engine):
    """See `Engine`. Sequences that are stepped together share model calls where that saves time."""

    def __init__(
        self,
        path: Path,
        *,
        name: str | None = None,
        threads: int | None = None,
        dtype: Dtype = "auto",
        device: str | None = None,
        cache: Path | None = None,
        prefix_cache_bytes: int = 1 << 30,
    ) -> None:
        """`device`: as torch names it; None: a GPU if torch sees one. `cache`: the folder for what is made of the
        tokenizer; without one it is made at each start. `prefix_cache_bytes`: memory for prompts that later ones may
        begin like; 0: none is kept.
        """
        if not path.is_dir():
            raise ValueError(f"{path} is not a model's folder")
        _set_threads(compute_threads(threads))
        super().__init__(path, name, cache)
        place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._model = CausalModel(path, resolve_dtype(dtype, path, place), place)
        self.context_window = self._model.context_window
        self._prefixes = PrefixCache(prefix_cache_bytes)
        self._sequences: dict[SequenceId, _Sequence] = {}
        self._ids = count(1)

    def open(self, prompt: Sequence[int]) -> SequenceId:
        if not 0 < len(prompt) <= self.context_window:
            raise ValueError(f"a prompt has 1 to {self.context_window} tokens, not {len(prompt)}")
        if not self._knows(prompt):
            raise ValueError("the prompt holds a token id that the model doesn't have")
        sequence = next(self._ids)
        self._sequences[sequence] = _Sequence(tuple(prompt))
        return sequence

    def step(self, forwards: Sequence[Forward]) -> list[Logits | EngineError]:
        if len({forward.sequence for forward in forwards}) != len(forwards):
            raise ValueError("a sequence takes one step at a time")
        results: dict[int, Logits | EngineError] = {}
        shared: dict[int, _Extension] = {}
        for index, forward in enumerate(forwards):
            try:
                first = self._check(forward)
                work = self._begin(forward.sequence) if first else self._extension(forward)
            except Exception as error:  # whatever fails, fails one request only
                work = self._drop(forward.sequence, error)
            if isinstance(work, _Extension):
                shared[index] = work
            else:
                results[index] = work
        for batch in self._batches(list(shared.values())):
            members = [list(shared)[at] for at in batch]
            results.update(zip(members, self._advance([shared[index] for index in members]), strict=True))
        return [self._fit(results[index]) for index in range(len(forwards))]

    def log_probabilities(self, prompt: Sequence[int], tokens: Sequence[int]) -> NDArray[np.float64]:
        """The model's own log-probability of each token after the prompt and the tokens before it: [tokens].

        Natural logarithms, over all tokens of the model, without a grammar. The tokens take one model call, which
        needs four bytes for each of them and each token of the model. Raises ValueError for a text that the model
        can't read, EngineError if it fails.
        """
        if not self._knows(tokens):
            raise ValueError("there is a token id that the model doesn't have")
        if len(prompt) + len(tokens) > self.context_window:
            raise ValueError(f"the text would leave the context window of {self.context_window} tokens")
        sequence = self.open(prompt)
        try:
            logits = self._logits_before(sequence, tokens)
        except EngineError:
            raise
        except Exception as error:  # see `step`
            raise self._drop(sequence, error) from error
        finally:
            self.close(sequence)
        return np.array([_log_probability(row, token) for row, token in zip(logits, tokens, strict=True)], np.float64)

    def close(self, sequence: SequenceId) -> None:
        self._sequences.pop(sequence, None)

    def shutdown(self) -> None:
        self._sequences.clear()
        del self._model, self._prefixes

    def _knows(self, tokens: Sequence[int]) -> bool:
        return all(0 <= token < self._model.tokens for token in tokens)

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
            if not tokens or not self._knows(tokens):
                raise ValueError(f"a row can't be extended by the tokens {tokens}")
            if rows.length(row) + len(tokens) > self.context_window:
                raise ValueError(f"a row would leave the context window of {self.context_window} tokens")
        return False

    def _begin(self, sequence: SequenceId) -> _Extension | Logits | EngineError:
        """The logits after a prompt, or what is left to compute of it where others may share the call."""
        state = self._sequences[sequence]
        known = self._prefixes.find(state.prompt)
        if known is None:
            return self._advance([_Extension(sequence, (), (state.prompt,))])[0]
        if known.logits is not None:
            state.rows, state.picks = known.rows, (0,)
            return known.logits[None]
        rest = _Extension(sequence, ((known.rows, 0),), (state.prompt[known.length :],))
        return rest if len(rest.chunks[0]) <= SHARED_REST else self._advance([rest])[0]

    def _extension(self, forward: Forward) -> _Extension:
        sequence = self._sequences[forward.sequence]
        references = tuple(sequence.reference(parent) for parent in forward.parents)
        return _Extension(forward.sequence, references, forward.tokens)

    def _logits_before(self, sequence: SequenceId, tokens: Sequence[int]) -> Logits:
        """The logits that each of the tokens is drawn from if they follow a sequence's prompt."""
        begun = self._begin(sequence)
        first = self._advance([begun])[0] if isinstance(begun, _Extension) else begun
        if isinstance(first, EngineError):
            raise first
        if len(tokens) < 2:
            return first[: len(tokens)]
        prompt = gather([self._sequences[sequence].reference(0)])
        return np.concatenate([first, self._model.follow(prompt, tokens[:-1])])

    def _batches(self, extensions: Sequence[_Extension]) -> list[list[int]]:
        if not extensions:
            return []
        rows, _ = extensions[0].references[0]
        return batches([extension.demand for extension in extensions], SHARED_CALL_BYTES // rows.column_bytes)

    def _advance(self, extensions: Sequence[_Extension]) -> list[Logits | EngineError]:
        """One model call for all; if it fails, one for each, which spares those that are not to blame."""
        try:
            return list(self._extend(extensions))
        except Exception as error:  # see `step`
            if len(extensions) == 1:
                return [self._drop(extensions[0].sequence, error)]
            logger.warning("a shared step failed (%s); its %d sequences step alone", error, len(extensions))
        return [result for extension in extensions for result in self._advance([extension])]

    def _extend(self, extensions: Sequence[_Extension]) -> list[Logits]:
        references = [reference for extension in extensions for reference in extension.references]
        chunks = [chunk for extension in extensions for chunk in extension.chunks]
        logits, rows = self._model.extend(gather(references) if references else None, chunks)
        results = []
        start = 0
        for extension in extensions:
            stop = start + len(extension.chunks)
            sequence = self._sequences[extension.sequence]
            if sequence.rows is None:
                self._prefixes.keep(sequence.prompt, (rows, start), logits[start])
            sequence.rows, sequence.picks = rows, tuple(range(start, stop))
            results.append(logits[start:stop])
            start = stop
        return results

    def _fit(self, result: Logits | EngineError) -> Logits | EngineError:
        """Result as wide as the vocabulary: models pad their output, and tokenizers have ids that no model knows."""
        if isinstance(result, EngineError):
            return result
        missing = self.vocabulary.size - result.shape[1]
        if missing <= 0:
            return result[:, : self.vocabulary.size]
        return np.pad(result, ((0, 0), (0, missing)), constant_values=-np.inf)

    def _drop(self, sequence: SequenceId, cause: Exception) -> EngineError:
        logger.warning("sequence %d failed", sequence, exc_info=cause)
        self.close(sequence)
        error = EngineError(f"the model failed this request: {cause}")
        error.__cause__ = cause
        return error


def _log_probability(logits: Logits, token: int) -> float:
    """Log-probability of one token by logits of all: [model's tokens], any shift."""
    shifted = logits.astype(np.float64) - logits.max()
    return float(shifted[token] - np.log(np.exp(shifted).sum()))


def _set_threads(threads: int) -> None:
    torch.set_num_threads(threads)
    # One owner thread calls the model. torch takes this setting once, before its first parallel work.
    if torch.get_num_interop_threads() != 1:
        with suppress(RuntimeError):
            torch.set_num_interop_threads(1)
