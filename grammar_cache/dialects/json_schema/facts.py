"""What one schema object asserts by itself, apart from the schemas it refers to.

Here a keyword is read, reported or refused; what it means for texts is said in the file of its type.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from grammar_cache.dialects.json_schema import draft as drafts
from grammar_cache.dialects.json_schema import formats
from grammar_cache.dialects.json_schema import keywords as tables
from grammar_cache.dialects.json_schema.arrays import ArrayFacts
from grammar_cache.dialects.json_schema.document import Document
from grammar_cache.dialects.json_schema.loading import Json
from grammar_cache.dialects.json_schema.numbers import Interval
from grammar_cache.dialects.json_schema.objects import ObjectFacts
from grammar_cache.dialects.json_schema.reading import Keywords
from grammar_cache.dialects.json_schema.strings import StringFacts
from grammar_cache.errors import GrammarSyntaxError, UnsupportedFeature

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
"""Where "number" stands for the numbers that are not integers: a schema's "number" is both."""
ANY_TYPE = frozenset(TYPES)


@dataclass(frozen=True, slots=True)
class Facts:
    """`values`: each `enum` or `const`, the value being one of each. `others`: schemas that hold as well, of
    which the first `leading` come before the schema's own keywords. `choices`: one or more of these hold."""

    types: frozenset[str] = ANY_TYPE
    values: tuple[tuple[Json, ...], ...] = ()
    text: StringFacts = field(default_factory=StringFacts)
    interval: Interval = field(default_factory=Interval)
    array: ArrayFacts = field(default_factory=ArrayFacts)
    object: ObjectFacts = field(default_factory=ObjectFacts)
    others: tuple[str, ...] = ()
    leading: int = 0
    choices: tuple[str, ...] | None = None

    @property
    def asserts(self) -> bool:
        """Whether the schema says something that the schemas it refers to don't."""
        plain = self.types == ANY_TYPE and not self.values and self.text.free and self.interval.free
        return not (plain and self.array.free and self.object.free)


class FactReader:
    """Reads the schemas of a document, each once, and keeps the report of what is not enforced."""

    def __init__(self, document: Document, *, lenient: bool) -> None:
        self._document = document
        self._lenient = lenient
        self._read: dict[str, Facts] = {}
        self.ignored: list[str] = []
        if document.unknown_dialect:
            self.ignored.append("/$schema: not a draft of the standard, read as 2020-12")

    def facts(self, pointer: str) -> Facts:
        if pointer not in self._read:
            node = self._document.node(pointer)
            if isinstance(node.value, bool):
                self._read[pointer] = Facts() if node.value else Facts(types=frozenset())
            else:
                self._read[pointer] = self._facts(Keywords.of(node, self._document.draft))
        return self._read[pointer]

    def _facts(self, keywords: Keywords) -> Facts:
        if "$ref" in keywords and keywords.draft.ref_stands_alone:
            for name in keywords.values:
                if name not in tables.ANNOTATIONS and name != "$ref":
                    self._report(keywords.at(name), "ignored beside $ref before draft 2019-09")
            return Facts(others=self._reference(keywords))
        for name in keywords.values:
            self._check(keywords, name)
        others, leading = self._others(keywords)
        return Facts(
            _types(keywords),
            _values(keywords),
            StringFacts.read(keywords),
            Interval.read(keywords),
            ArrayFacts.read(keywords),
            ObjectFacts.read(keywords),
            others,
            leading,
            keywords.schemas("anyOf"),
        )

    def _check(self, keywords: Keywords, name: str) -> None:
        """Report or refuse what is not enforced."""
        pointer = keywords.at(name)
        if name in tables.REFUSED:
            if not tables.REFUSED[name](keywords.values[name]):
                self._refuse(pointer, f"{name} can't be enforced")
        elif name == "format":
            named = keywords.values[name]
            if isinstance(named, str) and named in formats.UNENFORCED:
                self._refuse(pointer, f"format {named} can't be enforced")
            elif isinstance(named, str) and named not in formats.FORMATS:
                self._report(pointer, f"format {named} is an annotation")
        elif name == "$schema":
            self._check_dialect(keywords, pointer)
        elif name not in tables.ENFORCED and name not in tables.ANNOTATIONS:
            self._report(pointer, "annotation")

    def _check_dialect(self, keywords: Keywords, pointer: str) -> None:
        """A schema with an identifier may speak another draft; without one, `$schema` says nothing there."""
        if drafts.named(keywords.values["$schema"], pointer) in (None, self._document.draft):
            return
        if keywords.draft.id_keyword in keywords:
            raise UnsupportedFeature("a schema of another draft inside the schema", pointer=pointer)
        self._report(pointer, "ignored inside the schema")

    def _others(self, keywords: Keywords) -> tuple[tuple[str, ...], int]:
        others: list[str] = []
        leading = 0
        for name in keywords.values:
            if name == "$ref":
                others.extend(self._reference(keywords))
            elif name == "allOf":
                others.extend(keywords.schemas("allOf") or ())
            elif name == "properties":
                leading = len(others)
        return tuple(others), leading

    def _reference(self, keywords: Keywords) -> tuple[str, ...]:
        try:
            return (self._document.target(self._document.node(keywords.pointer), keywords.values["$ref"]),)
        except UnsupportedFeature as error:
            if not self._lenient:
                raise
            self._report(error.pointer or "", "not enforced")
            return ()

    def _refuse(self, pointer: str, message: str) -> None:
        if not self._lenient:
            raise UnsupportedFeature(message, pointer=pointer)
        self._report(pointer, "not enforced")

    def _report(self, pointer: str, what: str) -> None:
        self.ignored.append(f"{pointer}: {what}")


def _types(keywords: Keywords) -> frozenset[str]:
    if "type" not in keywords:
        return ANY_TYPE
    value = keywords.values["type"]
    names = value if isinstance(value, list) else [value]
    if not names:
        raise keywords.wrong("type", "a type or a non-empty list of types")
    for name in names:
        if not isinstance(name, str) or name not in ANY_TYPE:
            wanted = ", ".join(sorted(ANY_TYPE))
            raise GrammarSyntaxError(f"type must be one of {wanted}", pointer=keywords.at("type"))
    found = frozenset(str(name) for name in names)
    return found | {"integer"} if "number" in found else found


def _values(keywords: Keywords) -> tuple[tuple[Json, ...], ...]:
    found: list[tuple[Json, ...]] = []
    if "enum" in keywords:
        members = keywords.values["enum"]
        if not isinstance(members, list):
            raise keywords.wrong("enum", "a list of values")
        found.append(tuple(members))
    if "const" in keywords:
        found.append((keywords.values["const"],))
    return tuple(found)
