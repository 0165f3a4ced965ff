"""The grammars that come with the package, by name, with texts that they accept and reject.

Each has a folder here with a GBNF file and its samples: see the README beside. Compiles nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from grammar_cache.constraint import Constraint

_FOLDER = files("grammar_cache") / "grammars"
_GRAMMAR, _ACCEPTED, _REJECTED = "grammar.gbnf", "accepted.txt", "rejected.txt"
_SEPARATOR = "---\n"


@dataclass(frozen=True, slots=True)
class Samples:
    """Texts of a shipped grammar's language, and others that are not."""

    accepted: tuple[str, ...]
    rejected: tuple[str, ...]


def names() -> tuple[str, ...]:
    """The names of all shipped grammars, sorted."""
    return tuple(sorted(folder.name for folder in _FOLDER.iterdir() if (folder / _GRAMMAR).is_file()))


def shipped(name: str) -> Constraint:
    """The grammar of that name. Raises ValueError where there is none."""
    return Constraint("gbnf", _read(name, _GRAMMAR))


def samples(name: str) -> Samples:
    """The texts beside the grammar of that name. Raises ValueError where there is none."""
    return Samples(_blocks(_read(name, _ACCEPTED)), _blocks(_read(name, _REJECTED)))


def _read(name: str, file: str) -> str:
    if name not in names():
        raise ValueError(f"there is no shipped grammar {name!r}: {', '.join(names())}")
    return (_FOLDER / name / file).read_bytes().decode()


def _blocks(text: str) -> tuple[str, ...]:
    """The texts between lines `---`, each without the line break at its end."""
    blocks = ("\n" + text).split("\n" + _SEPARATOR)
    return tuple(block.removeprefix("\n").removesuffix("\n") for block in blocks)
