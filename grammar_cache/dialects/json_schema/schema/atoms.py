"""Names of what can be asserted: a schema, the negation of something, or a fact that no schema states by itself.

A schema goes by its JSON Pointer, which is empty or starts with a slash. The other names start with marks that no
pointer starts with, so that one name never means two things. Knows no keyword.
"""

from __future__ import annotations

from typing import TypeAlias

Conjunction: TypeAlias = tuple[str, ...]
"""Atoms that hold together."""

_NOT = "!"
_MADE = "+"
TRUE = "+true "
FALSE = "+false "


def negation(atom: str) -> str:
    """Atom that holds where this one does not."""
    return atom[1:] if is_negation(atom) else _NOT + atom


def is_negation(atom: str) -> bool:
    return atom.startswith(_NOT)


def is_schema(atom: str) -> bool:
    """Whether it is a schema of the document, as it stands there."""
    return not atom.startswith((_NOT, _MADE))


def made_up(number: int, origin: str) -> str:
    """The name of a fact; `origin`: the pointer to what it comes from."""
    return f"{_MADE}{number} {origin}"


def pointer(atom: str) -> str:
    """The JSON Pointer to the schema that an atom comes from."""
    bare = atom.lstrip(_NOT)
    return bare.partition(" ")[2] if bare.startswith(_MADE) else bare
