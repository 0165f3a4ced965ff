"""Interfaces that vLLM gives to a logits processor, without vLLM: as much of them as the filter touches.

The names are those of `vllm/v1/sample/logits_processor/interface.py` (V1) and of
`vllm/v1/worker/gpu/sample/logits_processor/interface.py` (V2).
"""

from __future__ import annotations

import importlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from grammar_cache.vocabulary.vocabulary import Vocabulary


class MoveDirectionality(Enum):
    UNIDIRECTIONAL = auto()
    SWAP = auto()


Added = tuple[int, Any, list[int] | None, list[int]]
"""A request as a batch tells of it: its place, its parameters, its prompt, and the tokens drawn so far."""


@dataclass(frozen=True)
class BatchUpdate:
    batch_size: int
    removed: Sequence[int]
    added: Sequence[Added]
    moved: Sequence[tuple[int, int, MoveDirectionality]]


class V1LogitsProcessor(ABC):
    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        return None

    @abstractmethod
    def __init__(self, vllm_config: Any, device: torch.device, is_pin_memory: bool) -> None: ...

    @abstractmethod
    def apply(self, logits: torch.Tensor) -> torch.Tensor: ...

    @abstractmethod
    def is_argmax_invariant(self) -> bool: ...

    @abstractmethod
    def update_state(self, batch_update: BatchUpdate | None) -> None: ...


class V2LogitsProcessor(ABC):
    def __init__(self, vllm_config: Any, req_states: Any) -> None: ...  # noqa: B027

    @classmethod  # noqa: B027
    def validate_params(cls, sampling_params: Any) -> None: ...

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        return True

    def apply_staged_writes(self) -> None: ...  # noqa: B027

    @abstractmethod
    def apply(self, logits: torch.Tensor, ctx: Any) -> torch.Tensor: ...


@dataclass
class Sampling:
    """Part of vLLM's `SamplingParams` that the filter reads."""

    extra_args: dict[str, Any] | None = None
    temperature: float = 0.0
    n: int = 1
    seed: int | None = None
    min_tokens: int = 0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: dict[int, float] | None = None
    allowed_token_ids: list[int] | None = None
    bad_words: list[str] | None = field(default_factory=list)
    structured_outputs: Any = None


def no_split(text: str) -> list[int]:
    """Split of a tokenizer that nothing should ask."""
    raise AssertionError(f"{text!r} is to be split")


def installed() -> bool:
    return importlib.util.find_spec("vllm") is not None


def fake_modules() -> dict[str, ModuleType]:
    """Modules of the names that the filter imports."""
    found = {}
    for name, processor in (
        ("vllm.v1.sample.logits_processor.interface", V1LogitsProcessor),
        ("vllm.v1.worker.gpu.sample.logits_processor.interface", V2LogitsProcessor),
    ):
        module = found[name] = ModuleType(name)
        module.LogitsProcessor, module.MoveDirectionality = processor, MoveDirectionality  # type: ignore[attr-defined]
    return found


def filter_class(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`BudgetFilter` over fakes of vLLM's interfaces, imported anew."""
    for name, module in fake_modules().items():
        monkeypatch.setitem(sys.modules, name, module)
        for parent in (name.rsplit(".", n)[0] for n in range(1, name.count(".") + 1)):
            monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
    monkeypatch.delitem(sys.modules, "server.backends.vllm.worker.filter", raising=False)
    found = importlib.import_module("server.backends.vllm.worker.filter").BudgetFilter
    monkeypatch.delitem(sys.modules, "server.backends.vllm.worker.filter")
    return found


def config(folder: str = "somewhere") -> Any:
    """A `VllmConfig`."""
    return SimpleNamespace(model_config=SimpleNamespace(model=folder))


def made(cls: Any, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch, states: Any = None) -> Any:
    """A filter for this vocabulary, whatever the model's folder; with the states of V2, or for V1."""
    names = cls.__init__.__globals__
    monkeypatch.setitem(names, "Vocabulary", SimpleNamespace(from_pretrained=lambda folder, cache: vocabulary))
    monkeypatch.setitem(names, "warm_up", lambda vocabulary: None)
    monkeypatch.setitem(names, "ChatEncoder", lambda folder: SimpleNamespace(split=no_split))
    return cls(config(), torch.device("cpu"), False) if states is None else cls(config(), states)


class States:
    """V2's `LogitsProcRequestState`, of which nothing is asked."""


def context(slots: Sequence[int]) -> Any:
    """Part of V2's `LogitsContext`: the slot of each row."""
    return SimpleNamespace(idx_mapping_np=np.array(slots, np.int32))
