"""Names of rules, which tell the schemas that they were made for."""

from __future__ import annotations

from urllib.parse import quote, unquote

from grammar_cache.dialects.json_schema.schema.atoms import Conjunction
from grammar_cache.expression import Grammar


def rule_name(kind: str, key: Conjunction) -> str:
    """Name of the rule of a kind for a conjunction, unambiguous: in the fragment form of a JSON Pointer there is no
    space.
    """
    return f"{kind} {' & '.join('#' + quote(atom, safe='/:$') for atom in key)}"


def pointer_of(rule: str, grammar: Grammar) -> str:
    """The pointer to the schema that a rule is named by, "" where it is named by none. Names of made-up rules begin
    with that of the rule that they are made for.
    """
    while rule not in grammar.rules and rule:
        rule = rule[:-1]
    _, _, place = rule.partition(" #")
    return unquote(place.partition(" ")[0])
