"""Report of what a document asks for that is not enforced, or the refusal of it."""

from __future__ import annotations

from grammar_cache.dialects.json_schema.schema import keywords as tables
from grammar_cache.errors import UnsupportedFeature


class Unenforced:
    """Lines about one document. `lenient`: keywords that can't be enforced become lines; else they are errors."""

    def __init__(self, *, lenient: bool) -> None:
        self.lenient = lenient
        self.dropped = 0
        """Keywords that were not enforced so far."""
        self._lines: dict[str, None] = {}

    @property
    def lines(self) -> tuple[str, ...]:
        """Lines on what is not enforced, and on annotations that the standard doesn't know, each once."""
        return tuple(self._lines)

    def note(self, pointer: str, what: str) -> None:
        """Adds a line on what a pointer leads to."""
        self._lines[f"{pointer}: {what}"] = None

    def refuse(self, pointer: str, message: str) -> None:
        """A keyword can't be enforced: raises UnsupportedFeature, or adds a line if lenient."""
        if not self.lenient:
            raise UnsupportedFeature(f"{message}{tables.LENIENT}", pointer=pointer)
        self.dropped += 1
        self.note(pointer, "not enforced")

    def leave_out(self, pointer: str, message: str) -> None:
        """Values have no text among items that may not repeat: raises UnsupportedFeature, or adds a line if lenient."""
        if not self.lenient:
            raise UnsupportedFeature(f"uniqueItems can't be enforced {message}{tables.LENIENT}", pointer=pointer)
        self.note(pointer, "left out where items may not repeat")
