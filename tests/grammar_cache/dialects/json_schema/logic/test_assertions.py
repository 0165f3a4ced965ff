"""Assertions of atoms, and the names of atoms."""

from __future__ import annotations

from itertools import combinations

from grammar_cache.dialects.json_schema.logic.assertions import FactReader
from grammar_cache.dialects.json_schema.logic.facts import Facts
from grammar_cache.dialects.json_schema.schema.document import Document
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.unenforced import Unenforced
from grammar_cache.dialects.json_schema.strings.patterns import Patterns
from grammar_cache.limits import Limits


def test_equal_facts_have_one_name_in_whatever_order_their_sets_are_written() -> None:
    """Names don't depend on how a process hashes texts: else the numbers of rules would, too."""
    one, other = _equal_sets_that_are_written_differently()
    reader = FactReader(Document(True), Patterns(Limits()), Unenforced(lenient=False))
    assert one == other
    assert repr(one) != repr(other)
    assert reader.make(Facts(types=one), "") == reader.make(Facts(types=other), "")
    assert reader.make(Facts(types=one), "") != reader.make(Facts(), "")


def test_loose_facts_rest_on_what_the_draft_knows() -> None:
    """Keywords of other drafts are enforced, but nothing that holds where the schema does not follows from them."""
    schema: dict[str, Json] = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "string", "minLength": 1}
    plain = FactReader(Document(schema), Patterns(Limits()), Unenforced(lenient=False))
    assert plain.loose("") == plain.facts("")
    newer = FactReader(Document(schema | {"const": "a"}), Patterns(Limits()), Unenforced(lenient=False))
    assert newer.loose("") == plain.facts("")
    assert newer.facts("") != plain.facts("")


def _equal_sets_that_are_written_differently() -> tuple[frozenset[str], frozenset[str]]:
    """Two texts whose hashes collide in a small table."""
    for pair in combinations(map(str, range(100)), 2):
        one, other = frozenset(pair), frozenset(reversed(pair))
        if repr(one) != repr(other):
            return one, other
    raise AssertionError("no texts collide")
