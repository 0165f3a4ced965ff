"""benchmarks/vllm/gpu.sh on a machine without a GPU: stand-ins for nvidia-smi and the interpreter tell what is run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.documents import ROOT


def test_every_step_runs_at_the_root(tmp_path: Path) -> None:
    """Tests, beams, load and memory, in the folder of the repository, wherever it is started."""
    stub = '#!/bin/sh\necho "$(pwd -P): $*"\n'
    for name in ("nvidia-smi", "python"):
        (tmp_path / name).write_text(stub)
        (tmp_path / name).chmod(0o755)
    out = tmp_path / "out"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHON": str(tmp_path / "python")}
    script = ROOT / "benchmarks" / "vllm" / "gpu.sh"
    subprocess.run([script, tmp_path, out], check=True, env=environment, cwd=tmp_path, capture_output=True, timeout=60)
    told = {name: (out / f"{name}.txt").read_text() for name in ("tests", "beams", "load", "memory")}
    assert all(text.startswith(f"{ROOT.resolve()}: -m ") for text in told.values()), told
    [folder] = [word for word in told["tests"].split() if word.startswith("tests/")]
    assert (ROOT / folder).is_dir()
