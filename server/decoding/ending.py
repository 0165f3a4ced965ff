"""When a beam is over.

    candidate   where the text is complete and nothing may follow. Where something may, the end token is a candidate
    freeze      at its first complete text, as Algorithm 1 is printed: what could follow is never looked at

Frozen, an answer is the shortest complete prefix of what it might have become: `SELECT a FROM t` has no `WHERE`, and a
language that holds the empty text has no other. It takes a language that is worth it, such as JSON values in brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from server.decoding.language import Language
from server.decoding.parameters import Ending

ENDINGS: Mapping[Ending, Callable[[Language, int], bool]] = MappingProxyType(
    {
        "candidate": lambda language, configuration: language.ends(configuration),
        "freeze": lambda language, configuration: language.accepts(configuration),
    }
)
"""Whether a beam at this configuration is over."""
