"""Drafts of JSON Schema: the one that a text speaks, and what differs between them here."""

from __future__ import annotations

import re
from enum import IntEnum

from grammar_cache.errors import GrammarSyntaxError, UnsupportedFeature

_DRAFT = re.compile(r"https?://json-schema\.org/(?:draft-(\d\d)|draft/(\d{4}-\d\d))/schema#?\Z")


class Draft(IntEnum):
    """Ordered by age."""

    DRAFT_4 = 4
    DRAFT_6 = 6
    DRAFT_7 = 7
    DRAFT_2019_09 = 8
    DRAFT_2020_12 = 9
    UNDECLARED = 10
    """No `$schema`: 2020-12, but what only an older draft can mean is read as that draft means it."""

    @property
    def id_keyword(self) -> str:
        return "id" if self is Draft.DRAFT_4 else "$id"

    @property
    def ref_stands_alone(self) -> bool:
        """Whether the keywords next to a `$ref` are ignored."""
        return self <= Draft.DRAFT_7

    @property
    def has_item_lists(self) -> bool:
        """Whether `items` may be a list, which `additionalItems` continues."""
        return self is not Draft.DRAFT_2020_12

    def has_boolean_exclusive(self, value: object) -> bool:
        """Whether this value of `exclusiveMinimum` says how to read `minimum`."""
        return self is Draft.DRAFT_4 or (self is Draft.UNDECLARED and isinstance(value, bool))

    @property
    def has_integral_decimals(self) -> bool:
        """Whether 1.0 is an integer."""
        return self is not Draft.DRAFT_4


_NAMES = {
    "draft-04": Draft.DRAFT_4,
    "draft-06": Draft.DRAFT_6,
    "draft-07": Draft.DRAFT_7,
    "draft/2019-09": Draft.DRAFT_2019_09,
    "draft/2020-12": Draft.DRAFT_2020_12,
}
_URIS = {
    f"{scheme}://json-schema.org/{name}/schema{fragment}": draft
    for name, draft in _NAMES.items()
    for scheme in ("http", "https")
    for fragment in ("", "#")
}


def named(uri: object, pointer: str) -> Draft | None:
    """The draft that a value of `$schema` names; None for a dialect that is not one of the standard's."""
    if not isinstance(uri, str):
        raise GrammarSyntaxError("$schema must be a string", pointer=pointer)
    draft = known(uri)
    match = _DRAFT.match(uri) if draft is None else None
    if match is not None:
        raise UnsupportedFeature(f"draft {match[1] or match[2]} of JSON Schema is not supported", pointer=pointer)
    return draft


def known(uri: str) -> Draft | None:
    """The draft of that URI, if it is one that is supported."""
    return _URIS.get(uri)
