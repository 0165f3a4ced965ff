"""Environment variables of vLLM, set before anything imports it. Its processes inherit them."""

from __future__ import annotations

import os
import re

from server.backends.vllm.frontend.lifeline import FRONT_END

OLDEST, BEFORE = (0, 32), (0, 34)
"""The versions whose interfaces were read and tested."""

_OURS = {
    # Tables and threads of this process don't survive a fork.
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
}
_UNLESS_SAID = {
    # The standard output belongs to the commands.
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",
    # Nothing is reported to anybody.
    "VLLM_NO_USAGE_STATS": "1",
}


class VllmMissing(RuntimeError):
    """vLLM can't be used here; the message says why."""


def prepare() -> None:
    """Prepares the environment, before `vllm` is imported. Raises VllmMissing where it can't be, or is of another
    version.
    """
    for name, value in _UNLESS_SAID.items():
        os.environ.setdefault(name, value)
    os.environ.update(_OURS)
    os.environ[FRONT_END] = str(os.getpid())
    try:
        from vllm.version import __version__ as version
    except ModuleNotFoundError as error:
        raise VllmMissing(f"--engine vllm needs vLLM ({error}): pip install 'vllm{_wanted()}'") from error
    except (ImportError, RuntimeError) as error:  # packages of another build beside it
        raise VllmMissing(f"vLLM is installed, but can't be imported: {error}") from error
    check_version(version)


def check_version(version: str) -> None:
    """Raises VllmMissing for a version that isn't supported."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None or not OLDEST <= (int(found[1]), int(found[2])) < BEFORE:
        raise VllmMissing(f"vLLM {version} is installed; this server works with vllm{_wanted()}")


def _wanted() -> str:
    return f">={'.'.join(map(str, OLDEST))},<{'.'.join(map(str, BEFORE))}"
