"""Reading the schemas of a document: what each atom asserts.

Here a keyword is read; what it means for texts is said in the file of its type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, cached_property

from grammar_cache.dialects.json_schema.containers.array_facts import ArrayFacts
from grammar_cache.dialects.json_schema.containers.object_facts import ObjectFacts
from grammar_cache.dialects.json_schema.logic.facts import Facts
from grammar_cache.dialects.json_schema.logic.negation import Naming, different, negated, without
from grammar_cache.dialects.json_schema.logic.written_order import WrittenOrder
from grammar_cache.dialects.json_schema.numbers.interval import Interval
from grammar_cache.dialects.json_schema.schema import keywords as tables
from grammar_cache.dialects.json_schema.schema.atoms import (
    FALSE,
    TRUE,
    Conjunction,
    is_negation,
    is_schema,
    made_up,
    negation,
)
from grammar_cache.dialects.json_schema.schema.atoms import pointer as pointer_of
from grammar_cache.dialects.json_schema.schema.contents import Contents
from grammar_cache.dialects.json_schema.schema.document import Document, Node
from grammar_cache.dialects.json_schema.schema.draft import Draft
from grammar_cache.dialects.json_schema.schema.listed_alternatives import listed_alternatives
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.reading import Keywords
from grammar_cache.dialects.json_schema.schema.resources import REFERENCES
from grammar_cache.dialects.json_schema.schema.types import stated_types, stated_values
from grammar_cache.dialects.json_schema.schema.unenforced import Unenforced
from grammar_cache.dialects.json_schema.schema.values import ANY_TYPE, OBJECTS, STRINGS, identity
from grammar_cache.dialects.json_schema.strings import formats
from grammar_cache.dialects.json_schema.strings.listing_pattern import listed_texts
from grammar_cache.dialects.json_schema.strings.patterns import Patterns
from grammar_cache.dialects.json_schema.strings.string_facts import StringFacts
from grammar_cache.errors import LimitExceeded, UnsupportedFeature

_BEYOND_TYPE = tables.ENFORCED - {"type"}

_LOOKING_AROUND = ("unevaluatedProperties", "unevaluatedItems")


class FactReader:
    """Reads the atoms of a document, each once. `unenforced`: report of what is not enforced."""

    def __init__(self, document: Document, patterns: Patterns, unenforced: Unenforced) -> None:
        self._document = document
        self._patterns = patterns
        self.unenforced = unenforced
        # What is dropped is reported with its place: equal schemas aren't one then.
        self._contents = None if unenforced.lenient else Contents(formats.FORMATS)
        self._read: dict[str, Facts] = {TRUE: _ALL, FALSE: _NONE}
        self._loose: dict[str, Facts] = {}
        self.written = WrittenOrder(document)
        self._made: dict[str, str] = {}
        self._values: dict[str, Json] = {}
        self.looks_around = False
        """Whether it matters for some atom that was read which other schemas hold."""
        self._incomplete: set[str] = set()
        if document.unknown_dialect:
            self.unenforced.note("/$schema", "not a draft of the standard, read as 2020-12")

    def facts(self, atom: str) -> Facts:
        if atom not in self._read:
            self._read[atom] = self._facts(atom)
        return self._read[atom]

    def loose(self, atom: str) -> Facts:
        """Facts that the atom asserts by keywords that the draft knows. Others are enforced, but nothing that holds
        where a schema does not may rest on them.
        """
        facts = self.facts(atom)
        if is_schema(atom) and atom not in self._loose:
            node = self._document.node(atom)
            undated = isinstance(node.value, bool) or tables.DATED.isdisjoint(node.value)
            self._loose[atom] = facts if undated else self._known(node, facts)
        return self._loose.get(atom, facts)

    def knows(self, atom: str, keyword: str) -> bool:
        """Whether the draft of a schema gives a keyword its meaning."""
        return tables.is_known(keyword, self._document.node(atom).draft)

    def lists(self, atom: str) -> bool:
        """Whether it is a schema that lists values."""
        value = self._document.node(atom).value if is_schema(atom) else None
        if not isinstance(value, dict):
            return False
        if "const" in value or "enum" in value or listed_alternatives(value, self._document.node(atom).draft):
            return True
        return value.get("type") == "string" and listed_texts(value.get("pattern")) is not None

    def _known(self, node: Node, facts: Facts) -> Facts:
        """Facts that a schema asserts by keywords that the draft knows; `facts`: those that it asserts by all."""
        keywords = self._keywords(node)
        if node.pointer in self._incomplete:
            keywords = self._enforceable(keywords)
        known = {name: value for name, value in keywords.values.items() if tables.is_known(name, keywords.draft)}
        same = len(known) == len(keywords.values) or ("$ref" in known and keywords.draft.ref_stands_alone)
        return facts if same else self._asserted(replace(keywords, values=known))

    def _keywords(self, node: Node) -> Keywords:
        contents, scope = self._contents, node.scope
        if contents is None:
            return Keywords.of(node, lambda _, place: place)
        return Keywords.of(node, lambda value, place: contents.place(value, place, scope))

    def denied(self, atom: str) -> str | None:
        """The identity of the list or object that the atom says it is not; None for other atoms."""
        return identity(self._values[atom]) if isinstance(self._values.get(atom), list | dict) else None

    def _facts(self, atom: str) -> Facts:
        if is_schema(atom):
            node = self._document.node(atom)
            if isinstance(node.value, bool):
                return _ALL if node.value else _NONE
            return self._stated(self._keywords(node))
        origin = pointer_of(atom)
        naming = Naming(lambda facts: self.make(facts, origin), lambda value: self._unequal(value, origin))
        if is_negation(atom):
            found = self.loose(negation(atom))
            if negation(atom) in self._incomplete:
                found = replace(found, incomplete=True)
            return negated(found, naming)
        return different(self._values[atom], naming)

    def make(self, facts: Facts, origin: str) -> str:
        """A name for facts that no schema states by itself; equal facts get the same."""
        # A set is written in any order, another one in another process.
        return self._named(f"{sorted(facts.types)} {replace(facts, types=ANY_TYPE)!r}", origin, facts)

    def _named(self, content: str, origin: str, facts: Facts | None) -> str:
        if content not in self._made:
            atom = self._made[content] = made_up(len(self._made), origin)
            if facts is not None:
                self._read[atom] = facts
        return self._made[content]

    def _unequal(self, value: Json, origin: str) -> str:
        """A name for not being a value; what that says is worked out when it is asked for."""
        atom = self._named(f"!= {identity(value)}", origin, None)
        self._values[atom] = value
        return atom

    def _stated(self, keywords: Keywords) -> Facts:
        if "$ref" in keywords and keywords.draft.ref_stands_alone:
            for name in keywords.values:
                if name not in tables.ANNOTATIONS and name != "$ref":
                    self.unenforced.note(keywords.at(name), "ignored beside $ref before draft 2019-09")
            return Facts(others=self._reference(keywords, "$ref"))
        before = self.unenforced.dropped
        self.unenforced.remark(keywords, formats.FORMATS)
        if "prefixItems" in keywords and "items" in keywords and not tables.is_known("prefixItems", keywords.draft):
            self.unenforced.refuse(keywords.at("prefixItems"), "in this draft items is about all items")
            keywords = keywords.without("prefixItems")
        if self.unenforced.lenient:
            keywords = self._enforceable(keywords)
        found = self._asserted(keywords)
        if self.unenforced.dropped > before:
            self._incomplete.add(keywords.pointer)
        return found

    def _enforceable(self, keywords: Keywords) -> Keywords:
        """Keywords without patterns that can't be read, and numbers that are too large to be counted with."""
        while True:
            try:
                Interval.read(keywords)
                for place, pattern in StringFacts.read(keywords).patterns:
                    self._patterns.spelling(pattern, place)
            except (UnsupportedFeature, LimitExceeded) as error:
                self.unenforced.refuse(error.pointer or "", error.message)
                keywords = keywords.without((error.pointer or "").rpartition("/")[2])
            else:
                return keywords

    def _asserted(self, keywords: Keywords) -> Facts:
        if keywords.none_of(_BEYOND_TYPE):
            return _all_of(stated_types(keywords))
        listed = listed_alternatives(keywords.values, keywords.draft)
        for name in listed:
            keywords = keywords.without(name)
        alternatives = keywords.schemas("oneOf")
        types, values, strings = stated_types(keywords), stated_values(keywords), StringFacts.read(keywords)
        values = (*values, *listed.values())
        if types == STRINGS and (texts := listed_texts(keywords.values.get("pattern"))) is not None:
            values, strings = (*values, texts), replace(strings, patterns=())
        own = (
            types,
            values,
            strings,
            Interval.read(keywords),
            ArrayFacts.read(keywords),
            ObjectFacts.read(keywords),
        )
        if keywords.none_of(tables.OF_SEVERAL):
            return Facts(*own)
        found = Facts(
            *own,
            self._others(keywords),
            self._choices(keywords),
            () if alternatives is None else (alternatives,),
            unevaluated_properties=keywords.schema("unevaluatedProperties"),
            unevaluated_items=keywords.schema("unevaluatedItems"),
            evaluated_items=_evaluated_items(keywords),
        )
        if found.looks_around and not found.refers and not _has_unseen_places(keywords):
            return found.seen_alone()
        self.looks_around = self.looks_around or found.looks_around
        return found

    def _others(self, keywords: Keywords) -> tuple[str, ...]:
        others: list[str] = []
        for name in keywords.values:
            if name in REFERENCES:
                others.extend(self._reference(keywords, name))
            elif name == "allOf":
                others.extend(keywords.schemas("allOf") or ())
            elif name == "not":
                others.append(negation(keywords.at("not")))
        return tuple(others)

    def _reference(self, keywords: Keywords, name: str) -> tuple[str, ...]:
        try:
            return (self._document.target(self._document.node(keywords.pointer), name),)
        except UnsupportedFeature as error:
            self.unenforced.refuse(error.pointer or "", error.message)
            return ()

    def _choices(self, keywords: Keywords) -> tuple[tuple[Conjunction, ...], ...]:
        groups: list[tuple[Conjunction, ...]] = []
        alternatives = keywords.schemas("anyOf")
        if alternatives is not None:
            groups.append(tuple((alternative,) for alternative in alternatives))
        groups += self._conditions(keywords)
        for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
            groups += self._dependencies(keywords, keyword)
        return tuple(groups)

    def _conditions(self, keywords: Keywords) -> list[tuple[Conjunction, ...]]:
        """Either `if` and `then` hold, or `else` does, and `if` does not. From an `if` alone nothing follows, but where
        it holds it evaluates what is in it.
        """
        condition = keywords.schema("if")
        if condition is None:
            return []
        then, otherwise = keywords.schema("then"), keywords.schema("else")
        if then is None and otherwise is None:
            return [((condition,), (TRUE,))] if self._looked_around else []
        met = (condition,) if then is None else (condition, then)
        unmet = (negation(condition),) if otherwise is None else (negation(condition), otherwise)
        return [(met, unmet)]

    @cached_property
    def _looked_around(self) -> bool:
        """Whether some schema may ask what a condition evaluates from which nothing follows."""
        return self._document.mentions(_LOOKING_AROUND)

    def _dependencies(self, keywords: Keywords, keyword: str) -> Iterator[tuple[Conjunction, ...]]:
        """Alternatives for each name that is depended on: its member is absent, or it is there with what it asks
        for.
        """
        for name, wanted in keywords.dependencies(keyword):
            needed = (name, *wanted) if isinstance(wanted, tuple) else (name,)
            present = Facts(types=OBJECTS, object=ObjectFacts(required=tuple(dict.fromkeys(needed))))
            more = () if isinstance(wanted, tuple) else (wanted,)
            origin = keywords.at(keyword, name)
            yield (self.make(without(name), origin),), (self.make(present, origin), *more)


def _evaluated_items(keywords: Keywords) -> tuple[str, ...]:
    """Atoms of items that `contains` evaluates, which it does from draft 2020-12 on."""
    value = keywords.schema("contains")
    return () if value is None or keywords.draft < Draft.DRAFT_2020_12 else (value,)


def _has_unseen_places(keywords: Keywords) -> bool:
    """Whether items are told by their places in a way that the draft doesn't know, though it asks for what is left."""
    known = (tables.is_known(name, keywords.draft) for name in ("prefixItems", "unevaluatedItems"))
    return "prefixItems" in keywords and tuple(known) == (False, True)


_ALL, _NONE = Facts(), Facts(types=frozenset())


@cache
def _all_of(types: frozenset[str]) -> Facts:
    """Facts of a schema that says no more than `type`, as most do."""
    return Facts(types)
