"""Members of a request's objects: which are ours, which are neutral or refused, and which nobody knows."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from server.protocol.constraints.fields import ConstraintFields
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.foreign.field import Foreign
from server.protocol.members import LONGEST_TOLD, unknown_member

_LIKE_A_CONSTRAINT = re.compile(
    r"schema|grammar|regex|format|guided|choices?$|choice_|ebnf|gbnf|lark|structur|constrain|json"
)
"""Part of a name that may stand for a constraint, in lower case."""
_CONSTRAINTS = tuple(ConstraintFields.model_fields)


@dataclass(slots=True)
class Reading:
    """One body's reading: what is remembered of members that its model doesn't have.

    Those that nobody is known to have are refused, or let through if `report_unknown` and they don't look like a
    constraint.
    """

    report_unknown: bool = False
    let_through: list[str] = field(default_factory=list)
    """Paths of unknown members."""
    other_names: dict[str, str] = field(default_factory=dict)
    """Paths by which the body has members of ours, by our names."""

    def meet(self, name: str, path: str, known: Collection[str]) -> None:
        """Raises ApiError for one that is refused."""
        told = path + name[:LONGEST_TOLD]
        if _LIKE_A_CONSTRAINT.search(name[:LONGEST_TOLD].lower()):
            close = get_close_matches(name[:LONGEST_TOLD].lower(), _CONSTRAINTS, 1, 0.0)[0]
            message = f"{told}: no constraint has that name; did you mean {close}?"
            raise ApiError(ErrorCode.UNKNOWN_PARAMETER, message, param=told)
        if not self.report_unknown:
            raise ApiError(ErrorCode.UNKNOWN_PARAMETER, f"{told}: {unknown_member(name, known)}", param=told)
        self.let_through.append(told)


def without_neutral(
    given: Mapping[str, object],
    known: Collection[str],
    foreign: Mapping[str, Foreign],
    path: str = "",
    reading: Reading | None = None,
) -> dict[str, object]:
    """The members that are ours. Raises ApiError at a foreign one that asks for a thing, or an unknown one."""
    kept: dict[str, object] = {}
    reading = reading or Reading()
    for name, value in given.items():
        if name in known:
            kept[name] = value
        elif value is None:
            continue
        elif name not in foreign:
            reading.meet(name, path, known)
        elif not foreign[name].is_neutral(value):
            raise unsupported(path + name, foreign[name])
    return kept


def unsupported(told: str, foreign: Foreign) -> ApiError:
    """Refusal of a field that others have."""
    return ApiError(ErrorCode.UNSUPPORTED_PARAMETER, f"{told} is {foreign.complaint}", param=told)
