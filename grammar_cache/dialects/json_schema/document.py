"""A schema as a tree of nodes, each known by its JSON Pointer, and what `$ref` leads to.

Knows identifiers and anchors, but no other keyword's meaning. References leave the document nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urldefrag, urljoin

from grammar_cache.dialects.json_schema import draft as drafts
from grammar_cache.dialects.json_schema.draft import Draft
from grammar_cache.dialects.json_schema.loading import Json
from grammar_cache.errors import GrammarSyntaxError, UnsupportedFeature

_LITERALS = frozenset({"enum", "const", "default", "examples"})
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class Node:
    """A subschema: where it is, what it says, and the URI that its references are relative to."""

    pointer: str
    value: bool | dict[str, Json]
    base: str


def child_pointer(pointer: str, *tokens: str | int) -> str:
    return pointer + "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)


class Document:
    """The nodes of one schema text."""

    def __init__(self, root: Json) -> None:
        self._root = root
        declared = root.get("$schema") if isinstance(root, dict) else None
        named = None if declared is None else drafts.named(declared, "/$schema")
        self.draft: Draft = named or drafts.DEFAULT
        self.unknown_dialect = declared is not None and named is None
        self._nodes: dict[str, Node] = {}
        self._resources: dict[str, str] = {"": ""}
        self._anchors: dict[tuple[str, str], str] = {}
        self._index()

    def node(self, pointer: str) -> Node:
        """The subschema at a pointer that is known to lead somewhere."""
        if pointer not in self._nodes:
            found = self._walk(pointer)
            if found is None:
                raise GrammarSyntaxError("no schema is there", pointer=pointer)
            value, base = found
            if not isinstance(value, bool | dict):
                raise GrammarSyntaxError("a schema must be an object or a boolean", pointer=pointer)
            self._nodes[pointer] = Node(pointer, value, base)
        return self._nodes[pointer]

    def target(self, node: Node, reference: Json) -> str:
        """The pointer that `$ref` of a node leads to."""
        place = child_pointer(node.pointer, "$ref")
        if not isinstance(reference, str):
            raise GrammarSyntaxError("$ref must be a string", pointer=place)
        uri, fragment = self._absolute(node.base, reference, place)
        if uri not in self._resources:
            raise UnsupportedFeature(f"$ref leads out of the schema: {reference}", pointer=place)
        resource = self._resources[uri]
        fragment = unquote(fragment)
        pointer: str | None
        if fragment == "" or fragment.startswith("/"):
            pointer = self._canonical(resource + fragment)
        else:
            pointer = self._anchors.get((uri, fragment))
        if pointer is None:
            raise GrammarSyntaxError(f"$ref leads nowhere: {reference}", pointer=place)
        return pointer

    @staticmethod
    def _absolute(base: str, reference: str, place: str) -> tuple[str, str]:
        try:
            if reference.startswith("#"):
                return base, reference[1:]
            uri, fragment = urldefrag(urljoin(base, reference))
        except ValueError as error:
            raise GrammarSyntaxError(f"not a URI reference: {reference}", pointer=place) from error
        return uri, fragment

    def _canonical(self, pointer: str) -> str | None:
        """One spelling per place, so that a node has one name; None where the pointer leads nowhere."""
        if self._walk(pointer) is None:
            return None
        return child_pointer("", *(_unescaped(token) for token in pointer.split("/")[1:]))

    def _walk(self, pointer: str) -> tuple[Json, str] | None:
        value, base = self._root, ""
        base = self._base_of(value, base)
        for token in pointer.split("/")[1:]:
            if isinstance(value, dict) and _unescaped(token) in value:
                value = value[_unescaped(token)]
            elif isinstance(value, list) and _INDEX.fullmatch(token) and int(token) < len(value):
                value = value[int(token)]
            else:
                return None
            base = self._base_of(value, base)
        return value, base

    def _base_of(self, value: Json, base: str) -> str:
        """The base URI inside a value that stands where `base` is in force."""
        if not isinstance(value, dict) or (self.draft.ref_stands_alone and "$ref" in value):
            return base
        own = value.get(self.draft.id_keyword)
        if not isinstance(own, str) or own.startswith("#"):
            return base
        try:
            return urldefrag(urljoin(base, own))[0]
        except ValueError:
            return base  # a malformed identifier names nothing; references to it lead nowhere

    def _index(self) -> None:
        """Note identifiers and anchors wherever a schema may stand."""
        for value, pointer, outer in self._schemas():
            base = self._base_of(value, outer)
            if base != outer:
                self._resources.setdefault(base, pointer)
            for anchor in self._anchor_names(value):
                self._anchors.setdefault((base, anchor), pointer)

    def _anchor_names(self, value: dict[str, Json]) -> Iterator[str]:
        for keyword in ("$anchor", "$dynamicAnchor"):
            name = value.get(keyword)
            if isinstance(name, str):
                yield name
        own = value.get(self.draft.id_keyword)
        if self.draft <= Draft.DRAFT_7 and isinstance(own, str) and own.startswith("#"):
            yield own[1:]

    def _schemas(self) -> Iterator[tuple[dict[str, Json], str, str]]:
        """Every object that a keyword makes a schema, with the base URI outside of it."""
        stack: list[tuple[Json, str, str, bool]] = [(self._root, "", "", True)]
        while stack:
            value, pointer, base, is_schema = stack.pop()
            if isinstance(value, list):
                stack.extend((item, f"{pointer}/{index}", base, True) for index, item in enumerate(value))
            elif isinstance(value, dict):
                if is_schema:
                    yield value, pointer, base
                    base = self._base_of(value, base)
                stack.extend(
                    (item, child_pointer(pointer, name), base, not is_schema or name not in _MAPS)
                    for name, item in value.items()
                    if not is_schema or name not in _LITERALS
                )


def _unescaped(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")
