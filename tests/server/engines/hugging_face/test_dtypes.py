"""Number formats: which one is taken where nobody says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from server.engines.hugging_face.dtypes import resolve_dtype


def test_weights_in_full_precision_stay_so(tiny_folder: Callable[[str], Path]) -> None:
    """ "auto" keeps float32 weights in float32; naming a type settles it."""
    folder = tiny_folder("llama")
    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    chosen = [resolve_dtype(dtype, folder, cpu) for dtype in ("auto", "float32", "bfloat16")]
    assert chosen == [torch.float32, torch.float32, torch.bfloat16]
    assert resolve_dtype("auto", folder, cuda) is torch.float32
