"""The peers there are, and the interpreters that run them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from server.evaluation.peers.limits import DEFAULT, PATIENT, Limits
from server.evaluation.task import Form

WORKERS = Path(__file__).parent / "workers"


@dataclass(frozen=True, slots=True)
class Kind:
    """`module`: what tells whether it is installed. `file`: what its process runs. `forms` it reads, the best first.

    `tests`: it makes no masks, but tests tokens one by one.
    """

    name: str
    module: str
    file: Path
    forms: tuple[Form, ...]
    tests: bool = False
    limits: Limits = DEFAULT


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Kind(
                "xgrammar",
                "xgrammar",
                WORKERS / "xgrammar.py",
                ("json_schema", "gbnf", "lark", "regex", "structural_tag"),
            ),
            Kind("llguidance", "llguidance", WORKERS / "llguidance.py", ("json_schema", "lark", "gbnf", "regex")),
            Kind("outlines-core", "outlines_core", WORKERS / "outlines_core.py", ("json_schema", "regex")),
            Kind("lm-format-enforcer", "lmformatenforcer", WORKERS / "lm_format_enforcer.py", ("json_schema", "regex")),
            Kind("syncode", "syncode", WORKERS / "syncode.py", ("lark",), limits=PATIENT),
            Kind("genlm-control", "genlm", WORKERS / "genlm_control.py", ("json_schema", "lark", "regex"), tests=True),
        )
    }
)


def interpreter(name: str, folder: Path) -> Path | None:
    """The Python that has this peer: of its own environment in `folder`, or the one that runs now; None: neither.

    Raises ValueError for a name that is no peer's.
    """
    if name not in KINDS:
        raise ValueError(f"there is no peer {name!r}: {', '.join(KINDS)}")
    own = folder / name
    if (own / "installed").is_file():
        return own / "bin" / "python"
    return Path(sys.executable) if find_spec(KINDS[name].module) is not None else None


def installed(folder: Path) -> list[str]:
    """The peers that can run here; `folder` is where scripts/install_peers.sh put their environments."""
    return [name for name in KINDS if interpreter(name, folder) is not None]
