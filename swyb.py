"""SWYB's public face: grammars whose answers are always complete within a token budget.

    from swyb import Constraint, Vocabulary, compile_grammar

What is listed in `__all__` is kept stable; see docs/reference/python.md. Importing this module imports nothing else:
names are looked up when they are first used, and the command `swyb` begins here too.
"""

from __future__ import annotations

import sys
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grammar_cache import (
        AnswerTooLong,
        CompiledGrammar,
        Constraint,
        EmptyLanguage,
        GrammarError,
        GrammarSyntaxError,
        LimitExceeded,
        Limits,
        Minimum,
        UnsupportedFeature,
        Vocabulary,
        VocabularyError,
        compile_grammar,
        shipped,
        shipped_names,
        sql_grammar,
        tables_of,
    )

    __version__: str

__all__ = [
    "AnswerTooLong",
    "CompiledGrammar",
    "Constraint",
    "EmptyLanguage",
    "GrammarError",
    "GrammarSyntaxError",
    "LimitExceeded",
    "Limits",
    "Minimum",
    "UnsupportedFeature",
    "Vocabulary",
    "VocabularyError",
    "__version__",
    "compile_grammar",
    "shipped",
    "shipped_names",
    "sql_grammar",
    "tables_of",
]


def __getattr__(name: str) -> object:
    """A public name, from where it is defined."""
    if name == "__version__":
        return metadata.version("swyb")
    if name in __all__:
        return getattr(import_module("grammar_cache"), name)
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
