"""Patterns that list texts, as `^open$` and `^(open|closed)$` do: they tell schemas apart as `enum` does."""

from __future__ import annotations

import re

from grammar_cache.dialects.json_schema.schema.loading import Json

_TEXT = r"(?:[^\x00-\x1f\ud800-\udfff^$\\.*+?()\[\]{}|]|\\[\^$\\.*+?()\[\]{}|/])+"
_LISTING = re.compile(rf"\^(?:({_TEXT})|\((?:\?:)?({_TEXT}(?:\|{_TEXT})*)\))\$")
_ALTERNATIVE = re.compile(_TEXT)
_ESCAPED = re.compile(r"\\(.)")


def listed_texts(pattern: Json) -> tuple[str, ...] | None:
    """The texts that a pattern matches, where it plainly lists them, each in one spelling; None for any other value."""
    listing = _LISTING.fullmatch(pattern) if isinstance(pattern, str) else None
    if listing is None:
        return None
    texts = _ALTERNATIVE.findall(listing[1] or listing[2])
    return tuple(dict.fromkeys(_ESCAPED.sub(r"\1", text) for text in texts))
