"""The base of all request models: unknown members are errors, no value is converted, and null is absence."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from server.protocol.foreign.field import Foreign
from server.protocol.members import LONGEST_TOLD, unknown_member

UNKNOWN_MEMBER = "unknown_member"
"""The type of the validation error for a member that a model doesn't have; its context has the `member`."""

FOREIGN_MEMBER = "foreign_member"
"""The type of the validation error for a member that others have, with a value that asks for something; see above."""
MISSING_MEMBER = "missing_member"
"""The type of the validation error for a member that others of the object ask for; its context has the `member`."""
MISPLACED_MEMBER = "misplaced_member"
"""The type of the validation error for a member that others of the object don't go with; see above."""


def tag_of(value: object) -> str:
    """Tag of a union's member by its `type`: in brackets, as the names of other unions' members, which the paths of
    errors leave out.
    """
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return f"[{str(kind)[:LONGEST_TOLD]}]"


class StrictModel(BaseModel):
    """See the module's text. Its first complaint is its last: a body may hold a million wrong members."""

    foreign: ClassVar[Mapping[str, Foreign]] = MappingProxyType({})
    """Members that others have. Those of bodies and of messages are read by `server.protocol.foreign.reading`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)

    @classmethod
    def member_names(cls) -> tuple[str, ...]:
        """Names of members as requests write them, in the model's order."""
        return tuple(field.alias or name for name, field in cls.model_fields.items())

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        known = cls.member_names()
        for name, value in given.items():
            if value is None or name in known:
                continue
            other = cls.foreign.get(name)
            if other is None:
                context = {"member": str(name)[:LONGEST_TOLD], "complaint": unknown_member(str(name), known)}
                raise PydanticCustomError(UNKNOWN_MEMBER, "{complaint}", context)
            if not other.is_neutral(value):
                context = {"member": name, "complaint": other.complaint}
                raise PydanticCustomError(FOREIGN_MEMBER, "{complaint}", context)
        return {name: value for name, value in given.items() if value is not None and name in known}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Schema in which what is optional may be null."""
        described = handler(core)
        model = handler.resolve_ref_schema(described)
        required = model.get("required", ())
        for name, member in model.get("properties", {}).items():
            if name not in required:
                model["properties"][name] = _nullable(member)
        if cls.foreign:
            model["properties"] |= {name: other.described for name, other in cls.foreign.items()}
        return described


def _nullable(member: dict[str, Any]) -> dict[str, Any]:
    if any(part.get("type") == "null" for part in member.get("anyOf", [])):
        return member
    about: dict[str, Any] = {key: member[key] for key in ("title", "description", "default") if key in member}
    values = {key: value for key, value in member.items() if key not in about}
    parts = values["anyOf"] if set(values) == {"anyOf"} else [values]
    return {**about, "anyOf": [*parts, {"type": "null"}]}
