"""JSON that stands in an answer as it was written, however deep: pydantic writes 255 levels of it, and no number beyond
a float's.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, SerializationInfo, WithJsonSchema, model_serializer

from server.protocol.completion import AnswerModel

_MEMBER = "verbatim"
_PLACE = re.compile(rf'{{"{_MEMBER}":(\d+)}}')
"""Place of a text in an answer: no other model has such a member, and in strings a quotation mark is escaped."""


class Verbatim(AnswerModel):
    """JSON text, for which `written` keeps a place while the answer around it is written."""

    text: str

    @classmethod
    def of(cls, value: object) -> Verbatim:
        """Text of a value. Raises ValueError for a number that JSON can't have."""
        return cls(text=json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))

    @model_serializer
    def _place(self, info: SerializationInfo[list[str]]) -> dict[str, int]:
        info.context.append(self.text)
        return {_MEMBER: len(info.context) - 1}


VerbatimObject: TypeAlias = Annotated[Verbatim, WithJsonSchema({"type": "object", "additionalProperties": True})]
"""A JSON object, as the description has it."""


def written(model: BaseModel, include: Any = None) -> str:
    """JSON text of an answer. `include`: see `BaseModel.model_dump_json`."""
    texts: list[str] = []
    text = model.model_dump_json(include=include, context=texts)
    return _PLACE.sub(lambda found: texts[int(found[1])], text) if texts else text
