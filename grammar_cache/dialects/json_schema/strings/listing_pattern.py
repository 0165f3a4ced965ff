"""Patterns that list texts, as `^open$` and `^(open|closed)$` do: they tell schemas apart as `enum` does."""

from __future__ import annotations

import re

from grammar_cache.dialects.json_schema.schema.loading import Json

_MOST = 100
"""Texts up to which a pattern counts as a list: each is compared by itself, where an automaton reads all of them."""

# Control characters have several spellings in JSON, surrogates none. Escaped is what means something else by itself.
_TEXT = r"(?:[^\x00-\x1f\ud800-\udfff^$\\.*+?()\[\]{}|]|\\[\^$\\.*+?()\[\]{}|/])+"
_LISTING = re.compile(rf"\^(?:({_TEXT})|\((?:\?:)?({_TEXT}(?:\|{_TEXT})*)\))\$")
_ALTERNATIVE = re.compile(_TEXT)
_ESCAPED = re.compile(r"\\(.)")


def listed_texts(pattern: Json) -> tuple[str, ...] | None:
    """The texts that a pattern matches, where it plainly lists a few; None for any other value."""
    listing = _LISTING.fullmatch(pattern) if isinstance(pattern, str) else None
    texts = [] if listing is None else _ALTERNATIVE.findall(listing[1] or listing[2])
    if not 0 < len(texts) <= _MOST:
        return None
    return tuple(dict.fromkeys(_ESCAPED.sub(r"\1", text) for text in texts))
