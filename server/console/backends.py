"""Engine that a command runs its model with: the option, and the backend it stands for."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from server.engines.embedded import default_cache
from server.options.command_line import add_options
from server.options.option import PASSED_ON, options_of
from server.settings import EngineChoice, EngineName, Settings

if TYPE_CHECKING:
    from server.backends.backend import Backend


def add_engine(parser: ArgumentParser) -> None:
    """Adds the option for the engine; vLLM's own options follow all others, behind `--`."""
    add_options(parser, [option for option in options_of(Settings) if option.name == "engine"])


def separated(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """A command's own arguments, and those that it passes on."""
    at = arguments.index(PASSED_ON) if PASSED_ON in arguments else len(arguments)
    return list(arguments[:at]), list(arguments[at + 1 :])


def engine_name(asked: Namespace | Settings) -> EngineName:
    """Engine that a command line or settings mean. Raises ValueError for options that it doesn't have."""
    named: EngineChoice | None = asked.engine
    chosen = _found() if named is None or named == "auto" else named
    if chosen != "vllm" and asked.engine_options:
        raise ValueError(f"options behind -- are for vLLM, and the engine is {chosen}")
    return chosen


def check_engine(name: EngineName) -> None:
    """Raises RuntimeError where a package is missing that the engine needs. Imports none of them."""
    needed = {"transformers": ("torch", "transformers"), "vllm": ("vllm",)}[name]
    missing = [package for package in needed if find_spec(package) is None]
    if missing:
        extra = "embedded" if name == "transformers" else "vllm"
        raise RuntimeError(f"the engine {name} needs {', '.join(missing)}: pip install 'swyb[{extra}]'")


def check_weights(folder: Path) -> None:
    """Raises ValueError for a folder without the weights that `transformers` reads."""
    if not any(next(folder.glob(pattern), None) for pattern in ("*.safetensors", "*.bin")):
        raise ValueError(f"{folder} has no weights: neither *.safetensors nor *.bin")


def backend_of(asked: Namespace | Settings, folder: Path, settings: Settings) -> Backend:
    """Backend that decodes with the model in a folder. Raises ValueError for options, RuntimeError where vLLM isn't
    there.
    """
    if engine_name(asked) == "vllm":
        from server.backends.vllm.frontend.environment import prepare

        prepare()
        from server.backends.vllm.frontend.backend import VllmBackend

        return VllmBackend(folder, asked.engine_options, name=settings.name, cache=default_cache())
    check_weights(folder)
    from server.backends.loop import EngineLoop
    from server.engines.hugging_face.engine import TransformersEngine

    cache, prefixes = default_cache(), settings.prefix_cache_bytes
    return EngineLoop(TransformersEngine(folder, name=settings.name, cache=cache, prefix_cache_bytes=prefixes))


def _found() -> EngineName:
    if find_spec("vllm") is None:
        return "transformers"
    import torch

    return "vllm" if torch.cuda.is_available() else "transformers"
