"""Permissions of a key: the constraints that its requests may bring or name."""

from __future__ import annotations

from server.access.keys import Key
from server.protocol.errors import ApiError, ErrorCode


def check_constraint(key: Key, text: str, field: str, name: str | None) -> None:
    """Raises ApiError for a constraint that the key may not use. `name`: that of the grammar, if it was sent so."""
    limits = key.limits
    if limits.only_grammars is not None and name not in limits.only_grammars:
        named = ", ".join(sorted(limits.only_grammars)) or "none"
        message = f"this key may only use grammars by these names: {named}"
        raise ApiError(ErrorCode.NOT_PERMITTED, message, param=field, details={"limit": "only_grammars"})
    if name is None and limits.constraint_bytes is not None and len(text.encode()) > limits.constraint_bytes:
        message = f"this key may send constraints of at most {limits.constraint_bytes} bytes: register it by a name"
        raise ApiError(ErrorCode.TEXT_BYTES_EXCEEDED, message, param=field, details={"limit": "constraint_bytes"})


def check_names(key: Key, registered: int) -> None:
    """Raises ApiError where a key may register no further name beside so many."""
    most = key.limits.named_grammars
    if most is not None and registered >= most:
        message = f"this key may have {most} registered names at a time: delete some"
        raise ApiError(ErrorCode.NOT_PERMITTED, message, param="name", details={"limit": "named_grammars"})
