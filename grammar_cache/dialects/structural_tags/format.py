"""Format objects of a structural tag: typed access to their members, and refusals that say where.

A member that isn't known is refused: it may be a constraint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.places import child_pointer
from grammar_cache.errors import GrammarError, GrammarSyntaxError, UnsupportedFeature

T = TypeVar("T")


class Format:
    """A format object at a JSON Pointer; `kind` is its type."""

    def __init__(self, value: Json, pointer: str, kind: str | None = None) -> None:
        """Raises GrammarSyntaxError for what is no object with a type; `kind`: the type where none needs to stand."""
        if not isinstance(value, dict):
            raise GrammarSyntaxError("a format is an object", pointer=pointer)
        self.pointer = pointer
        self._value = value
        self._known = {"type"}
        found = value.get("type", kind)
        if not isinstance(found, str):
            raise GrammarSyntaxError("a format has a type", pointer=f"{pointer}/type")
        self.kind = found

    def place(self, name: str) -> str:
        """JSON Pointer of a member."""
        return child_pointer(self.pointer, name)

    def has(self, name: str) -> bool:
        return self._value.get(name) is not None

    def raw(self, name: str) -> Json:
        """Value of a member, which has to be there."""
        self._known.add(name)
        if name not in self._value:
            raise GrammarSyntaxError(f"a format of type {self.kind} has {name}", pointer=self.place(name))
        return self._value[name]

    def text(self, name: str) -> str:
        return self._of(str, name, "a text")

    def flag(self, name: str) -> bool:
        """Value of a member that is false where it is absent."""
        self._known.add(name)
        return self._of(bool, name, "true or false") if self.has(name) else False

    def count(self, name: str, least: int = 0) -> int:
        found = self.raw(name)
        if not isinstance(found, int) or isinstance(found, bool) or found < least:
            raise GrammarSyntaxError(f"{name} is a whole number, {least} or more", pointer=self.place(name))
        return found

    def listed(self, name: str) -> Sequence[Json]:
        """Items of a list; none where it is absent."""
        self._known.add(name)
        return self._of(list, name, "a list") if self.has(name) else ()

    def texts(self, name: str) -> tuple[str, ...]:
        """Texts of a list; none where it is absent."""
        found = self.listed(name)
        for at, value in enumerate(found):
            if not isinstance(value, str):
                raise GrammarSyntaxError("a text was expected", pointer=f"{self.place(name)}/{at}")
        return tuple(value for value in found if isinstance(value, str))

    def tokens(self, name: str) -> tuple[int | str, ...]:
        """Ids and names of tokens in a list; none where it is absent."""
        return tuple(as_token(value, f"{self.place(name)}/{at}") for at, value in enumerate(self.listed(name)))

    def format(self, name: str) -> Format:
        return Format(self.raw(name), self.place(name))

    def formats(self, name: str, kind: str | None = None) -> list[Format]:
        """Formats of a list that has to be there, and not empty."""
        self.raw(name)
        found = [Format(value, f"{self.place(name)}/{at}", kind) for at, value in enumerate(self.listed(name))]
        if not found:
            raise GrammarSyntaxError(f"{name} is not empty", pointer=self.place(name))
        return found

    def unenforced(self, *names: str) -> None:
        """Refuses members that are understood, and can't be enforced; null and an empty list say nothing."""
        for name in names:
            if self._value.get(name) not in (None, []):
                raise UnsupportedFeature(f"{name} of a format of type {self.kind}", pointer=self.place(name))
            self._known.add(name)

    def close(self) -> None:
        """Refuses members that nobody has asked for."""
        for name in self._value:
            if name not in self._known:
                raise UnsupportedFeature(
                    f"a format of type {self.kind} has no member {name} that is known", pointer=self.place(name)
                )

    def _of(self, kind: type[T], name: str, told: str) -> T:
        found = self.raw(name)
        if not isinstance(found, kind):
            raise GrammarSyntaxError(f"{name} is {told}", pointer=self.place(name))
        return found


def as_token(value: Json, pointer: str) -> int | str:
    """Id or name of a token. Raises GrammarSyntaxError."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise GrammarSyntaxError("a token is an id or a name", pointer=pointer)
    return value


def placed(error: GrammarError, pointer: str) -> GrammarError:
    """The error of a grammar inside, with the place of that grammar before its own."""
    if error.line is not None:
        error.message = f"{error.message} (line {error.line}, column {error.column})"
        error.line = error.column = None
    error.pointer = pointer + (error.pointer or "")
    return error


def only(values: Mapping[str, Json], known: frozenset[str], pointer: str) -> None:
    """Raises UnsupportedFeature for a member that isn't known."""
    for name in values:
        if name not in known:
            raise UnsupportedFeature(f"{name} can't be enforced here", pointer=child_pointer(pointer, name))
