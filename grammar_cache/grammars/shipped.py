"""The grammars that come with the package, by name, with texts that they accept and reject.

Each is a GBNF file in `grammars/`, with its samples beside it: see the README there. Compiles nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from grammar_cache.constraint import Constraint

_FOLDER = files("grammar_cache") / "grammars"
_SUFFIX = ".gbnf"
_SEPARATOR = "---\n"


@dataclass(frozen=True, slots=True)
class Samples:
    """Texts of a shipped grammar's language, and others that are not."""

    accepted: tuple[str, ...]
    rejected: tuple[str, ...]


def names() -> tuple[str, ...]:
    """The names of all shipped grammars, sorted."""
    found = (file.name for file in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX)))


def shipped(name: str) -> Constraint:
    """The grammar of that name. Raises ValueError where there is none."""
    return Constraint("gbnf", _read(name, _SUFFIX))


def samples(name: str) -> Samples:
    """The texts beside the grammar of that name. Raises ValueError where there is none."""
    return Samples(_blocks(_read(name, ".accepted.txt")), _blocks(_read(name, ".rejected.txt")))


def _read(name: str, suffix: str) -> str:
    if name not in names():
        raise ValueError(f"there is no shipped grammar {name!r}: {', '.join(names())}")
    return (_FOLDER / f"{name}{suffix}").read_bytes().decode()


def _blocks(text: str) -> tuple[str, ...]:
    """The texts between lines `---`, each without the line break at its end."""
    blocks = ("\n" + text).split("\n" + _SEPARATOR)
    return tuple(block.removeprefix("\n").removesuffix("\n") for block in blocks)
