"""End of a JSON object in a text that comes in pieces."""

from __future__ import annotations

import re

_OUTSIDE = re.compile(r'["{}\[\]]')
_INSIDE = re.compile(r'["\\]')


class JsonEnd:
    """State of reading one object or array, which is well formed: how deep, and whether in a string."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def find(self, piece: str) -> int | None:
        """Offset in the next piece behind the object's end; None where the piece doesn't hold it."""
        at = 1 if self._escaped and piece else 0
        self._escaped = self._escaped and not piece
        while found := (_INSIDE if self._in_string else _OUTSIDE).search(piece, at):
            at = found.end()
            if found[0] == "\\":
                self._escaped = at == len(piece)
                at += 1
            elif found[0] == '"':
                self._in_string = not self._in_string
            else:
                self._depth += 1 if found[0] in "{[" else -1
                if self._depth == 0:
                    return at
        return None
