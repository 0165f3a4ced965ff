"""Folder that `--model` stands for: one that is here, one of the Hugging Face hub, or that of the embedded model.

Nothing here imports torch: what isn't there is told at once.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from importlib.util import find_spec
from pathlib import Path

from server.console.options import report
from server.engines.embedded import default_cache
from server.options.command_line import add_options
from server.options.option import options_of
from server.settings import Settings

TOKENIZER = ("tokenizer.json",)
"""Files that a tokenizer needs."""
MODEL = ("config.json", *TOKENIZER)
"""Files that an engine needs beside the weights."""
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_TOKENIZER_FILES = ["*.json", "*.jinja"]
_MODEL_FILES = [*_TOKENIZER_FILES, "*.safetensors", "*.model", "*.txt"]
ANSWER_SECONDS = 5.0
"""Seconds for the hub to say what it has."""


def add_model(parser: ArgumentParser) -> None:
    """Adds the option for the model; the embedded one is unpacked on first use."""
    add_options(parser, [option for option in options_of(Settings) if option.name == "model"])


def hub_name(model: Path | None) -> str | None:
    """The name on the hub that is meant; None where it is a folder, or can be no name."""
    text = str(model)
    return text if model is not None and not model.exists() and _HUB_NAME.fullmatch(text) else None


def model_folder(asked: Namespace | Settings, needs: tuple[str, ...] = TOKENIZER) -> Path:
    """Folder of the model that is asked for, fetched or made if need be; progress goes to the standard error.

    `needs`: files that it must have. Raises ValueError where it is no such folder, RuntimeError where it can't be had.
    """
    model: Path | None = asked.model
    if model is None:
        from server.engines.embedded import ensure_embedded_model

        return ensure_embedded_model(default_cache(), report)
    name = hub_name(model)
    folder = model if name is None else _fetched(name, _TOKENIZER_FILES if needs == TOKENIZER else _MODEL_FILES)
    if not folder.is_dir():
        raise ValueError(f"--model {model}: there is no such folder")
    missing = [file for file in needs if not (folder / file).is_file()]
    if missing:
        raise ValueError(f"--model {model} is no model's folder in Hugging Face format: it has no {missing[0]}")
    return folder


def _fetched(name: str, files: list[str]) -> Path:
    """The folder of a model in the hub's own cache. Raises RuntimeError, in one line."""
    if find_spec("huggingface_hub") is None:
        raise RuntimeError(
            f"--model {name}: there is no such folder, and to download it needs huggingface_hub: "
            "pip install 'swyb[embedded]'"
        )
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=files, etag_timeout=ANSWER_SECONDS))
    except LocalEntryNotFoundError as error:
        raise RuntimeError(
            f"--model {name}: there is no such folder, and the Hugging Face hub can't be reached: where it can, "
            f"`hf download {name} --local-dir FOLDER`, then --model FOLDER"
        ) from error
    except RepositoryNotFoundError as error:
        raise RuntimeError(
            f"--model {name}: there is no such folder, and the Hugging Face hub has no such model, or not for you: "
            "`hf auth login` says who you are"
        ) from error
    except HfHubHTTPError as error:
        raise RuntimeError(f"--model {name}: the Hugging Face hub doesn't give it: {error}") from error
