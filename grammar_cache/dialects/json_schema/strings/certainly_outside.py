"""Texts that are certainly not of a format, for what must not have it.

A format here is a part of what its RFC allows, so its complement may hold texts of the RFC. These patterns are
wider than the RFC instead, and what they don't match is never of the format; nor by laxer readers of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from grammar_cache.dialects.json_schema.strings.formats import FORMATS
from grammar_cache.dialects.regex import compiler as regex
from grammar_cache.expression import Expression

_WIDER = {
    "date": "^[0-9]{4}-?[0-9W]",
    "time": "^[0-9]{2}:?[0-9]{2}",
    "date-time": "^[0-9]{4}-?[0-9W]",
    "duration": "^P",
    "email": "@",
    "idn-email": "@",
    "hostname": "^[A-Za-z0-9.-]+$",
    "ipv6": ":",
    "uuid": "^[0-9A-Fa-f-]{32,}$",
    "uri": ":",
    "iri": ":",
    "relative-json-pointer": "^[0-9]",
}

_WHOLE = ("ipv4", "json-pointer")
"""Formats of which nothing is left out here, and that no reader takes more widely."""

WIDER: Mapping[str, Expression] = {
    **{name: regex.parse(pattern, search=True) for name, pattern in _WIDER.items()},
    **{name: FORMATS[name] for name in _WHOLE},
}
"""Language for each format that can be denied: one that holds every text of the format."""
