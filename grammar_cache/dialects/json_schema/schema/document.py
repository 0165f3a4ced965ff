"""A schema as a tree of nodes, each known by its place, and what its references lead to.

References leave the schema nowhere but to the bundled ones.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import unquote

from grammar_cache.dialects.json_schema.schema.draft import Draft
from grammar_cache.dialects.json_schema.schema.dynamic import DynamicAnchors
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.places import child_pointer
from grammar_cache.dialects.json_schema.schema.resources import RECURSIVE, Resources, Scope
from grammar_cache.errors import GrammarSyntaxError, UnsupportedFeature


@dataclass(slots=True)
class Node:
    """A subschema: where it is, what it says, and what is in force there."""

    pointer: str
    value: bool | dict[str, Json]
    scope: Scope

    @property
    def draft(self) -> Draft:
        return self.scope.draft


class Document:
    """The nodes of one schema text, and of the bundled ones that it refers to."""

    def __init__(self, root: Json) -> None:
        self._resources = Resources(root)
        self._dynamic = DynamicAnchors(self._resources)
        self._nodes: dict[str, Node] = {}

    @property
    def draft(self) -> Draft:
        """Draft of the root."""
        return self._resources.draft

    @property
    def unknown_dialect(self) -> bool:
        return self._resources.unknown_dialect

    def mentions(self, names: Collection[str]) -> bool:
        """Whether any object in the schema text has a member of one of these names."""
        root = self._resources.walk("")
        todo: list[Json] = [] if root is None else [root[0]]
        while todo:
            value = todo.pop()
            if isinstance(value, dict):
                if any(name in value for name in names):
                    return True
                todo += value.values()
            elif isinstance(value, list):
                todo += value
        return False

    def node(self, pointer: str) -> Node:
        """The subschema at a place that is known to lead somewhere."""
        if pointer not in self._nodes:
            found = self._resources.walk(pointer)
            if found is None:
                raise GrammarSyntaxError("no schema is there", pointer=pointer)
            value, scope = found
            if not isinstance(value, bool | dict):
                raise GrammarSyntaxError("a schema must be an object or a boolean", pointer=pointer)
            self._nodes[pointer] = Node(pointer, value, scope)
        return self._nodes[pointer]

    def target(self, node: Node, keyword: str) -> str:
        """The place that a reference of a node leads to: its `$ref`, `$dynamicRef` or `$recursiveRef`."""
        place = child_pointer(node.pointer, keyword)
        reference = node.value[keyword] if isinstance(node.value, dict) else None
        if not isinstance(reference, str):
            raise GrammarSyntaxError(f"{keyword} must be a string", pointer=place)
        try:
            found = self._resources.find(node.scope.base, reference)
        except (GrammarSyntaxError, UnsupportedFeature) as error:
            raise type(error)(f"{keyword} {error.message}", pointer=place) from error
        except ValueError as error:
            raise GrammarSyntaxError(f"not a URI reference: {reference}", pointer=place) from error
        if found is None:
            raise GrammarSyntaxError(f"{keyword} leads nowhere: {reference}", pointer=place)
        return (
            found if keyword == "$ref" else self._outermost(node, found, keyword, unquote(reference.rpartition("#")[2]))
        )

    def _outermost(self, node: Node, found: str, keyword: str, fragment: str) -> str:
        resource = self.node(found).scope.resource
        name = RECURSIVE if keyword == "$recursiveRef" else fragment
        anchors = self._resources.dynamic
        if anchors.get((resource, name)) != found:
            return found  # no dynamic anchor is there, so the reference is a plain one
        outer = self._dynamic.outermost(node.scope.resource, resource, name)
        if outer is None:
            place = child_pointer(node.pointer, keyword)
            raise UnsupportedFeature(f"{keyword} means different things on different ways to it", pointer=place)
        if self._resources.is_ambiguous(self.node(outer).scope.base, name):
            place = child_pointer(node.pointer, keyword)
            raise GrammarSyntaxError(f"{keyword} leads to several schemas: #{name}", pointer=place)
        return anchors[outer, name]
