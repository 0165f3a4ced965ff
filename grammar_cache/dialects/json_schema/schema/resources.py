"""Identifiers and anchors: which place each names, and what is in force at a place.

A schema resource is a schema with an identifier, with all that is in it but for the resources in it. Knows no other
keyword's meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import unquote, urldefrag, urljoin

from grammar_cache.dialects.json_schema.schema import bundled
from grammar_cache.dialects.json_schema.schema import draft as drafts
from grammar_cache.dialects.json_schema.schema.draft import Draft
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.places import along, child_pointer, split, step, unescaped
from grammar_cache.errors import GrammarSyntaxError, UnsupportedFeature

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
RECURSIVE = ""
"""Stands among the names of dynamic anchors for `$recursiveAnchor`, which has none."""

_SCHEMAS = frozenset(
    {
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contains", "contentSchema"),
        *("items", "prefixItems", "additionalItems", "unevaluatedItems"),
        *("additionalProperties", "propertyNames", "unevaluatedProperties"),
    }
)
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})


@dataclass(frozen=True, slots=True)
class Scope:
    """The URI that references are relative to, the draft, and the place of the resource."""

    base: str
    draft: Draft
    resource: str


class Resources:
    """Resources of a schema, and the bundled ones that references lead to.

    `draft` is that of the schema; `unknown_dialect` tells that it names one which isn't the standard's. What stands
    inside of texts is looked for when a reference asks for it by name: most lead to a place of their own text.
    """

    def __init__(self, root: Json) -> None:
        declared = root.get("$schema") if isinstance(root, dict) else None
        named = None if declared is None else drafts.named(declared, "/$schema")
        self.draft = named or Draft.UNDECLARED
        self.unknown_dialect = declared is not None and named is None
        self._dynamic: dict[tuple[str, str], str] = {}
        self._texts: dict[str, tuple[Json, Scope]] = {}
        self._walked: dict[str, tuple[Json, Scope]] = {}  # the texts, and all places that have been on a way
        self._identified: dict[str, str] = {}
        self._anchors: dict[tuple[str, str], str] = {}
        self._ambiguous: set[tuple[str, str]] = set()
        self._searched = 0
        self._root = root
        self._add("", root, Scope("", self.draft, ""))

    @property
    def dynamic(self) -> dict[tuple[str, str], str]:
        """Place of each dynamic anchor, by the place of its resource and its name."""
        self._search()
        return self._dynamic

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self._texts)

    def walk(self, place: str) -> tuple[Json, Scope] | None:
        """The value at a place and what is in force inside of it; None where nothing is."""
        ahead: list[str] = []
        here = place
        while here not in self._walked:
            here, _, token = here.rpartition("/")
            ahead.append(token)
        value, scope = self._walked[here]
        while ahead:
            token = ahead.pop()
            here = f"{here}/{token}"
            try:
                value = step(value, unescaped(token))
            except KeyError:
                return None
            scope = self._enter(value, here, scope)
            self._walked[here] = value, scope
        return value, scope

    def find(self, base: str, reference: str) -> str | None:
        """The place that a reference leads to, "" being a place too; None where it leads nowhere.

        Raises UnsupportedFeature where it leaves the schema, GrammarSyntaxError where schemas that differ have its
        name, ValueError where it is no URI reference.
        """
        uri, fragment = (base, reference[1:]) if reference.startswith("#") else urldefrag(urljoin(base, reference))
        if uri not in self._identified:
            self._search()
        if uri not in self._identified:
            self._load(uri)
        fragment = unquote(fragment)
        is_anchor = bool(fragment) and not fragment.startswith("/")
        if is_anchor:
            self._search()
        if self.is_ambiguous(uri, fragment if is_anchor else ""):
            raise GrammarSyntaxError(f"leads to several schemas: {reference}")
        if is_anchor:
            return self._anchors.get((uri, fragment))
        return self._canonical(self._identified[uri] + fragment)

    def is_ambiguous(self, base: str, anchor: str) -> bool:
        """Whether schemas that differ have this anchor, or ("") are the resource of this URI."""
        return (base, anchor) in self._ambiguous

    def schemas(self, text: str) -> Iterator[tuple[dict[str, Json], str, Scope]]:
        """Every object of a text that a keyword makes a schema, its place, and what is in force inside of it."""
        root, outer = self._texts[text]
        stack = [(root, text, outer, True)]
        while stack:
            value, place, scope, is_schema = stack.pop()
            if isinstance(value, list):
                stack.extend((item, f"{place}/{index}", scope, True) for index, item in enumerate(value))
            elif isinstance(value, dict):
                if is_schema:
                    scope = self._enter(value, place, scope)
                    yield value, place, scope
                stack.extend(
                    (item, child_pointer(place, name), scope, not is_schema or name in _SCHEMAS)
                    for name, item in value.items()
                    if not is_schema or name in _SCHEMAS or name in _MAPS
                )

    def _load(self, uri: str) -> None:
        known = bundled.find(uri)
        if not isinstance(known, dict):
            raise UnsupportedFeature(f"leads out of the schema: {uri}")
        draft = drafts.named(known.get("$schema"), "/$schema") or Draft.UNDECLARED
        self._add(f"{uri}#", known, Scope(uri, draft, f"{uri}#"))

    def _add(self, text: str, root: Json, outer: Scope) -> None:
        scope = self._enter(root, text, outer)
        self._texts[text] = (root, outer)
        self._walked[text] = root, scope
        self._identified.setdefault(outer.base, text)
        self._identified.setdefault(scope.base, text)

    def _search(self) -> None:
        """Look for identifiers and anchors in the texts that haven't been searched."""
        texts = self.texts[self._searched :]
        self._searched += len(texts)
        for text in texts:
            for value, place, scope in self.schemas(text):
                self._note(value, place, scope)

    def _note(self, value: dict[str, Json], place: str, scope: Scope) -> None:
        """Note what a schema names."""
        if scope.resource == place:
            self._compare(scope.base, "", self._identified.setdefault(scope.base, place), value)
            if value.get("$recursiveAnchor") is True:
                self._dynamic[place, RECURSIVE] = place
        for name in self._anchor_names(value, scope.draft):
            self._compare(scope.base, name, self._anchors.setdefault((scope.base, name), place), value)
        named = value.get("$dynamicAnchor")
        if isinstance(named, str):
            self._dynamic.setdefault((scope.resource, named), place)

    def _compare(self, base: str, anchor: str, place: str, value: Json) -> None:
        """Note that a name means several schemas where the first one that has it, at `place`, isn't this one."""
        found = None if self.is_ambiguous(base, anchor) else self.walk(place)
        if found is not None and found[0] is not value and repr(found[0]) != repr(value):
            self._ambiguous.add((base, anchor))

    def _canonical(self, place: str) -> str | None:
        """One spelling per place, so that a node has one name; None where the pointer leads nowhere."""
        text, pointer = split(place)
        try:
            return child_pointer(text, *(token for token, _ in along(self._texts[text][0], pointer)))
        except KeyError:
            return None

    def _enter(self, value: Json, place: str, outer: Scope) -> Scope:
        """Scope in force inside a value that stands where `outer` is."""
        if not isinstance(value, dict) or not (isinstance(value.get("$id"), str) or isinstance(value.get("id"), str)):
            return outer
        declared = value.get("$schema")
        draft = (drafts.known(declared) if isinstance(declared, str) else None) or outer.draft
        if draft.ref_stands_alone and "$ref" in value:
            return outer
        own = value.get(self._id_keyword(draft))
        if not isinstance(own, str) or own.startswith("#"):
            return outer
        try:
            base = urldefrag(urljoin(outer.base, own))[0]
        except ValueError:
            return outer  # a malformed identifier names nothing; references to it lead nowhere
        if base == outer.base:
            return replace(outer, draft=draft)
        return Scope(base, draft, place)

    def _anchor_names(self, value: dict[str, Json], draft: Draft) -> Iterator[str]:
        for keyword in ("$anchor", "$dynamicAnchor"):
            name = value.get(keyword)
            if isinstance(name, str):
                yield name
        keyword = self._id_keyword(draft)
        own = value.get(keyword)
        if (draft <= Draft.DRAFT_7 or keyword == "id") and isinstance(own, str) and own.startswith("#"):
            yield own[1:]

    @cached_property
    def _id_in_undeclared(self) -> bool:
        return _means_id(self._root)

    def _id_keyword(self, draft: Draft) -> str:
        return "id" if draft is Draft.UNDECLARED and self._id_in_undeclared else draft.id_keyword


def _means_id(root: Json) -> bool:
    """Whether a text, should it name no draft, means `id` as draft 4 does: some `$ref` by name, and no `$id`."""
    names = False
    stack: list[Json] = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if isinstance(value.get("$id"), str):
                return False
            reference = value.get("$ref")
            names = names or (isinstance(reference, str) and reference != "#" and not reference.startswith("#/"))
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return names
