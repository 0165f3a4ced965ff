"""Peers by name. A package that isn't installed is no error: `find` gives None for it.

`NAME@VERSION` is another version of a package, in a folder of its own (`.venv/peers/NAME-VERSION`). Packages that only
MaskBench asks for have one too (`.venv/peers/NAME`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from benchmarks.data import ROOT
from benchmarks.peers.grid_peer import Grid
from benchmarks.peers.llguidance_peer import LLGuidance
from benchmarks.peers.outlines_core_peer import OutlinesCore
from benchmarks.peers.peer import Peer
from benchmarks.peers.xgrammar_peer import XGrammar
from grammar_cache import Vocabulary

NAMES = ("xgrammar", "xgrammar-open", "llguidance")
DEFAULT = ("xgrammar", "llguidance")
FOLDER = ROOT / ".venv" / "peers"


def find(names: Sequence[str], vocabulary: Vocabulary, folder: Path) -> dict[str, Peer | None]:
    """The peers of these names for the vocabulary, whose tokenizer is in `folder`; None where one isn't installed."""
    return {name: _find(name, vocabulary, folder) for name in names}


def installed(name: str) -> bool:
    """Whether the package of this peer is there, in this environment or in a folder of its own."""
    return _own_folder(name).is_dir() or ("@" not in name and find_spec(_module(name)) is not None)


def _find(name: str, vocabulary: Vocabulary, folder: Path) -> Peer | None:
    if not installed(name):
        return None
    own = _own_folder(name)
    if own.is_dir():
        sys.path.insert(0, str(own))
    match name.partition("@")[0]:
        case "llguidance":
            return LLGuidance(vocabulary, folder)
        case "xgrammar" | "xgrammar-open":
            return XGrammar(vocabulary, open_objects=name == "xgrammar-open")
        case "outlines-core":
            return OutlinesCore(vocabulary)
        case "grid":
            return Grid(folder)
        case _:
            raise ValueError(f"there is no peer {name!r}: {', '.join(NAMES)}")


def _own_folder(name: str) -> Path:
    return FOLDER / name.replace("@", "-")


def _module(name: str) -> str:
    return "xgrammar" if name == "xgrammar-open" else name.replace("-", "_")
