"""The schemas of schemas of drafts 4 to 2020-12, which a `$ref` may lead to. Nothing is fetched from anywhere."""

from __future__ import annotations

import json

from grammar_cache.dialects.json_schema.schema.loading import Json, load
from grammar_cache.limits import Limits

_TOO_OLD = "http://json-schema.org/draft-03/schema"


def find(uri: str) -> Json:
    """The schema of this URI, which has no fragment; None where it isn't one of the standard's."""
    from jsonschema_specifications import REGISTRY

    known = REGISTRY.get(uri)
    return None if known is None or uri == _TOO_OLD else load(json.dumps(known.contents), Limits())
