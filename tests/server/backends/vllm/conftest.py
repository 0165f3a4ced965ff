"""A real engine on the embedded model, and the same model by transformers; both with float32."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

import httpx
import pytest

from grammar_cache.store.patience import Timing
from server.backends.loop import EngineLoop
from server.service import Service
from server.settings import Settings
from tests.cached import cache_folder, model_folder
from tests.server.running import serving_backend

if TYPE_CHECKING:
    from server.backends.vllm.frontend.backend import VllmBackend

START_SECONDS = 400.0
SMALL = ("--dtype", "float32", "--max-model-len", "512", "--kv-cache-memory-bytes", "256M", "--enforce-eager")

Serving: TypeAlias = tuple[str, Service, httpx.Client]
"""An address, its service and a client."""

MakeEngine: TypeAlias = "Callable[..., VllmBackend]"


@pytest.fixture(scope="session")
def make_engine() -> MakeEngine:
    """A small engine of the embedded model, or of another folder; not started. Skips where vLLM isn't."""
    if find_spec("vllm") is None:
        pytest.skip("vLLM is not installed here: make test-vllm does it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that vLLM imports
        from server.backends.vllm.frontend.environment import prepare

        prepare()
        from server.backends.vllm.frontend.backend import VllmBackend

    return lambda folder=None, options=(): VllmBackend(
        folder or model_folder(), (*SMALL, *options), name="smol", cache=cache_folder()
    )


@pytest.fixture(scope="package")
def vllm(make_engine: MakeEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """vLLM with a store of its own, which it waits for."""
    address = f"sqlite://{tmp_path_factory.mktemp('store')}/store.sqlite3"
    settings = Settings(store=address, store_timing=Timing(wait_least=20.0, wait_most=20.0))
    with serving_backend(make_engine(), settings, START_SECONDS) as serving:
        yield serving


@pytest.fixture(scope="package")
def transformers() -> Iterator[Serving]:
    from server.engines.hugging_face.engine import TransformersEngine

    engine = TransformersEngine(model_folder(), name="smol", dtype="float32", cache=cache_folder())
    with serving_backend(EngineLoop(engine), Settings(), START_SECONDS) as serving:
        yield serving
