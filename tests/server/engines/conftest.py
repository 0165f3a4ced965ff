"""Tiny models, made once a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from server.engines.hugging_face.engine import TransformersEngine

# Without the extra `embedded` there is nothing here to import, so nothing to collect.
NEED_TRANSFORMERS = [
    "attention",
    "chat",
    "kv",
    "layers",
    "prefix_cache",
    "scoring",
    "shared_prompts",
    "transformers_engine",
]
collect_ignore = [] if find_spec("transformers") else [f"test_{name}.py" for name in NEED_TRANSFORMERS]


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a kind of tiny model."""
    pytest.importorskip("transformers", reason="the package transformers (extra: embedded) is not installed")
    from tests.server.engines.tiny import save_model

    made: dict[str, Path] = {}

    def folder(kind: str) -> Path:
        if kind not in made:
            made[kind] = save_model(tmp_path_factory.mktemp("model"), kind)
        return made[kind]

    return folder


@pytest.fixture
def llama(tiny_folder: Callable[[str], Path]) -> Iterator[TransformersEngine]:
    """An engine with the plainest tiny model."""
    from server.engines.hugging_face.engine import TransformersEngine

    engine = TransformersEngine(tiny_folder("llama"), threads=1, dtype="float32")
    yield engine
    engine.shutdown()
