"""Report of what a document asks for that is not enforced, or the refusal of it."""

from __future__ import annotations

from collections.abc import Container

from grammar_cache.dialects.json_schema.schema import draft as drafts
from grammar_cache.dialects.json_schema.schema import keywords as tables
from grammar_cache.dialects.json_schema.schema.reading import Keywords
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

    def remark(self, keywords: Keywords, formats: Container[str]) -> None:
        """Notes or refuses what is not enforced of a schema, given the formats that are. Raises UnsupportedFeature."""
        if keywords.values.keys() <= tables.UNREMARKABLE:
            return
        for name in keywords.values:
            if name not in tables.UNREMARKABLE:
                self._remark_on(keywords, name, formats)

    def _remark_on(self, keywords: Keywords, name: str, formats: Container[str]) -> None:
        pointer, value = keywords.at(name), keywords.values[name]
        if name in tables.REFUSED:
            if not tables.REFUSED[name](value):
                self.refuse(pointer, f"{name} can't be enforced")
        elif name == "format":
            if isinstance(value, str) and value not in formats:
                self.note(pointer, f"format {value} is an annotation")
        elif name == "$schema":
            # A schema with an identifier may speak another draft; without one, `$schema` says nothing there.
            if drafts.named(value, pointer) not in (None, keywords.draft):
                self.note(pointer, "ignored inside the schema")
        else:
            self.note(pointer, "annotation")

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
