"""A field that others have: which of its values change nothing, and what to send instead of the others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Neutral: TypeAlias = Sequence[object]
"""The values of a field that change nothing; null is always one of them."""

JsonType: TypeAlias = Literal["boolean", "number", "string", "array", "object"]

_PYTHON: Mapping[JsonType, tuple[type, ...]] = {
    "boolean": (bool,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}


@dataclass(frozen=True, slots=True)
class Foreign:
    """A field that others have: the values that change nothing, and what to send instead of any other one."""

    neutral: Neutral
    instead: str = "leave it out"
    types: tuple[JsonType, ...] = ()
    """JSON types of which every value changes nothing."""

    def is_neutral(self, value: object) -> bool:
        """Whether a value asks for what happens anyway."""
        if among(value, self.neutral):
            return True
        if isinstance(value, bool):
            return "boolean" in self.types
        return any(isinstance(value, _PYTHON[name]) for name in self.types)

    @property
    def complaint(self) -> str:
        """Refusal of any other value: those that the field may have here, and what to send instead."""
        values = ", ".join([*map(json.dumps, self.neutral), *(f"any {name}" for name in self.types)])
        return f"not supported{f' but for {values}' if values else ''}: {self.instead}"

    @property
    def described(self) -> dict[str, object]:
        """Schema of the values that change nothing, described."""
        values: dict[str, object] = {"enum": [None, *self.neutral]}
        schema = {"anyOf": [values, *({"type": name} for name in self.types)]} if self.types else values
        return {**schema, "description": f"Of other servers, changes nothing. {self.instead}"}


def among(value: object, others: Iterable[object]) -> bool:
    """Whether a value is one of the others.

    True == 1 in Python: a number where a boolean is meant, or the reverse, is a mistake to be told.
    """
    return any(value == other and isinstance(value, bool) == isinstance(other, bool) for other in others)


NEVER: Neutral = ()
OFF: Neutral = (False,)
EITHER: Neutral = (False, True)
ZERO: Neutral = (0,)
ONE: Neutral = (1,)
EMPTY_LIST: Neutral = ([],)
EMPTY_OBJECT: Neutral = ({},)
