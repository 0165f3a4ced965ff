"""An instance with its members in the order of its schema, for engines that generate them in that order.

The order is read off the schema while `jsonschema` validates the instance: no engine is asked, so that it is the same
for all. Names come as `properties` lists them, keyword by keyword as the schema is written, through references and
`allOf`, and through those branches of `anyOf`, `oneOf` and `if` that hold; a name that is listed whichever branch holds
keeps its place there. Then come names that are only required, those that are whichever branch holds first, and all
others as they were.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend, validator_for

from server.checking import member_order

Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]
"""Function that `jsonschema` calls for a keyword: with the validator, the keyword's value, the instance and the schema.
"""
Places: TypeAlias = Mapping[int, Mapping[str, int]]
"""Places of names in each object, by its `id`."""

_SAY_NOTHING_OF_ORDER = ("not", "contains", "unevaluatedItems", "unevaluatedProperties")
"""Keywords that try schemas which needn't hold."""


def in_schema_order(text: str, schema: str) -> str:
    """A valid instance as another text of the same value, numbers as they are written.

    Raises what `jsonschema` raises for a schema with an unknown reference or a pattern that Python doesn't read.
    """
    value = json.loads(text)
    return member_order.write(_arranged(member_order.read(text), value, _Listing(json.loads(schema)).places(value)))


@dataclass(frozen=True, slots=True)
class _Note:
    """A name that a schema lists, or only requires. `choices`: how many branches lead to it. `object`: by its `id`."""

    required: bool
    choices: int
    object: int
    name: str


class _Listing:
    """A validator that also notes, for each object in the instance, which names are listed."""

    def __init__(self, schema: Any) -> None:
        kind = validator_for(schema, default=Draft202012Validator)
        self._keywords: Mapping[str, Keyword] = kind.VALIDATORS
        self._noted: list[_Note] = []
        self._choices = 0
        own: dict[str, Keyword] = {"anyOf": self._any_of, "oneOf": self._one_of, "if": self._if}
        own |= {name: self._noting(name) for name in ("properties", "required")}
        own |= {name: self._unnoted(name) for name in _SAY_NOTHING_OF_ORDER}
        known = {name: keyword for name, keyword in own.items() if name in self._keywords}
        if "if" in known:
            known |= {"then": self._branch(wanted=True), "else": self._branch(wanted=False)}
        self._validator = extend(kind, known)(_of_one_draft(schema))

    def places(self, value: Any) -> Places:
        for _ in self._validator.iter_errors(value):
            pass  # formats and the like don't matter here
        found: dict[int, dict[str, tuple[int, int]]] = {}
        for at, note in sorted(enumerate(self._noted), key=lambda noted: (noted[1].required, noted[1].choices)):
            group = note.choices + 1 if note.required else 0
            found.setdefault(note.object, {}).setdefault(note.name, (group, at))
        return {
            identity: {name: place for place, name in enumerate(sorted(places, key=lambda name: places[name]))}
            for identity, places in found.items()
        }

    def _noting(self, keyword: str) -> Keyword:
        def noting(validator: Any, listed: Any, value: Any, schema: Any) -> Iterable[ValidationError] | None:
            if isinstance(value, dict):
                self._noted += [_Note(keyword == "required", self._choices, id(value), name) for name in listed]
            return self._keywords[keyword](validator, listed, value, schema)

        return noting

    def _any_of(self, validator: Any, branches: Any, value: Any, _: Any) -> Iterator[ValidationError]:
        held = [self._holds(validator, value, branch) for branch in branches]
        if not any(held):
            yield ValidationError("no branch holds")

    def _one_of(self, validator: Any, branches: Any, value: Any, _: Any) -> Iterator[ValidationError]:
        held = [self._holds(validator, value, branch) for branch in branches]
        if sum(held) != 1:
            yield ValidationError("none or several branches hold")

    def _if(self, validator: Any, condition: Any, value: Any, _: Any) -> Sequence[ValidationError]:
        self._holds(validator, value, condition)
        return ()

    def _branch(self, *, wanted: bool) -> Keyword:
        """`then` and `else`, each where it is written."""

        def branch(validator: Any, subschema: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
            before = len(self._noted)
            holds = self._holds(validator, value, schema["if"]) if "if" in schema else not wanted
            del self._noted[before:]
            if holds == wanted:
                self._choices += 1
                errors = list(validator.descend(value, subschema))
                self._choices -= 1
                yield from errors

        return branch

    def _holds(self, validator: Any, value: Any, schema: Any) -> bool:
        """Whether a branch holds. If not, what it noted is struck out."""
        before, choices = len(self._noted), self._choices
        self._choices += 1
        holds = next(iter(validator.descend(value, schema)), None) is None
        self._choices = choices  # a branch that fails is left in the middle
        if not holds:
            del self._noted[before:]
        return holds

    def _unnoted(self, keyword: str) -> Keyword:
        def unnoted(validator: Any, wanted: Any, value: Any, schema: Any) -> Sequence[ValidationError]:
            before = len(self._noted)
            errors = list(self._keywords[keyword](validator, wanted, value, schema) or ())
            del self._noted[before:]
            return errors

        return unnoted


def _of_one_draft(schema: Any) -> Any:
    """Schema without `$schema`, at which `jsonschema` would go on with a validator of its own."""
    if isinstance(schema, list):
        return [_of_one_draft(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: part if name in ("enum", "const") else _of_one_draft(part)
        for name, part in schema.items()
        if not (name == "$schema" and isinstance(part, str))
    }


def _arranged(value: Any, judged: Any, places: Places) -> Any:
    """`judged`: the value as it was validated, its numbers read."""
    if isinstance(value, list):
        return [_arranged(item, other, places) for item, other in zip(value, judged, strict=True)]
    if not isinstance(value, dict):
        return value
    here = places.get(id(judged), {})
    names = sorted(value, key=lambda name: here.get(name, len(here)))
    return {name: _arranged(value[name], judged[name], places) for name in names}
