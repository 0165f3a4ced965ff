"""SWYB's public face: grammars whose answers are always complete within a token budget.

    from swyb import Constraint, Vocabulary, compile_grammar

What is listed in `__all__` is kept stable; see docs/reference/python.md. Importing this module loads nothing slow:
names are looked up when they are first used, and the command `swyb` begins here too.
"""

from __future__ import annotations

import sys
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import grammar_cache

if TYPE_CHECKING:
    from grammar_cache import *  # noqa: F403
    from server.evaluation.sql.database_names import tables_of

    __version__: str

__all__ = ["__version__", "tables_of"]
__all__ += grammar_cache.__all__


def __getattr__(name: str) -> object:
    """A public name, from where it is defined."""
    if name == "__version__":
        return metadata.version("swyb")
    if name == "tables_of":
        return import_module("server.evaluation.sql.database_names").tables_of
    if name in __all__:
        return getattr(grammar_cache, name)
    raise AttributeError(f"module 'swyb' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def main() -> int:
    """The command `swyb`: the process's exit status."""
    others = _other_servers()
    if others:
        print(f"swyb: error: another package named `server` hides ours: {', '.join(others)}", file=sys.stderr)
        return 1
    status: int = import_module("server.cli").main()
    return status


def _other_servers() -> list[str]:
    """Place that `server` would be imported from, if that isn't beside this file. None of its code is run."""
    spec = find_spec("server")
    if spec is None:
        return []
    places = [Path(place).resolve() for place in spec.submodule_search_locations or [str(spec.origin)]]
    return [] if Path(__file__).resolve().parent / "server" in places else [str(place) for place in places]


if __name__ == "__main__":
    sys.exit(main())
