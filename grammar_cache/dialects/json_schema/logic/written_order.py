"""Order in which a schema's text names members: keyword by keyword, through references and chosen branches.

A name that is listed whatever is chosen keeps its place there, though a branch lists it too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from grammar_cache.dialects.json_schema.logic.facts import Facts
from grammar_cache.dialects.json_schema.logic.search_branch import Branch, Place, Todo
from grammar_cache.dialects.json_schema.schema.atoms import is_schema
from grammar_cache.dialects.json_schema.schema.document import Document
from grammar_cache.dialects.json_schema.schema.places import tokens

_LISTS: Final = ("allOf", "anyOf", "oneOf")
_IN_PLACE: Final = (*_LISTS, "if", "then", "else", "dependentSchemas", "dependencies")
"""Keywords whose schemas hold of the same value. What else a schema names, it refers to."""
_NOT_WRITTEN: Final = 1 << 30


class WrittenOrder:
    """Order of the atoms that a search comes to, by the text of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._keywords: dict[str, dict[str, int]] = {}

    def schemas(self, branch: Branch) -> list[str]:
        """Schemas whose own assertions hold in a branch, in the order in which they are written."""
        stated = [atom for atom in branch.own if is_schema(atom)]
        if len(stated) > 1:
            stated.sort(key=lambda atom: self._place(branch.own[atom], branch))
        return stated

    def _place(self, item: Todo, branch: Branch) -> Place:
        if item.place is None:
            named = item.named or item.atom
            if item.parent is None:
                item.place = ((branch.roots.index(named) if named in branch.roots else len(branch.roots), 0),)
            else:
                above = self._place(item.parent, branch)
                item.place = (*above, self._within(item.parent.atom, "" if item.own else named))
        return item.place

    def _within(self, atom: str, named: str) -> tuple[int, int]:
        """Place of the keyword by which a schema names another one; of its own members where `named` is empty. What
        isn't written comes first, and what no schema says comes last.
        """
        if not is_schema(atom) or not is_schema(named):
            return _NOT_WRITTEN, 0
        if atom not in self._keywords:
            value = self._document.node(atom).value
            self._keywords[atom] = {name: at for at, name in enumerate(value)} if isinstance(value, dict) else {}
        keyword, place = ("$ref" if named else "properties"), 0
        if named.startswith(f"{atom}/"):
            name, *rest = tokens(named.removeprefix(atom))
            if name in _IN_PLACE:
                keyword, place = name, int(rest[0]) if name in _LISTS else 0
        return self._keywords[atom].get(keyword, -1), place


def written_names(branch: Branch, stated: Sequence[str], read: Callable[[str], Facts]) -> tuple[str, ...]:
    """Names of members that the schemas list, which stand in their order; then names that are only required. None where
    that is the order of the schemas anyway."""
    choices = [branch.own[atom].choices for atom in stated]
    if choices == sorted(choices):
        return ()
    listed: dict[str, tuple[int, int, int]] = {}  # choices, place of the schema, place in it
    required: dict[str, tuple[int, int, int]] = {}
    for at, atom in enumerate(stated):
        facts = read(atom).object
        for found, names in ((listed, facts.properties), (required, facts.required)):
            for place, name in enumerate(names):
                mention = choices[at], at, place
                found[name] = min(found.get(name, mention), mention)
    only_required = sorted(required.keys() - listed.keys(), key=lambda name: required[name])
    return (*sorted(listed, key=lambda name: listed[name][1:]), *only_required)
