"""A JSON Schema as a grammar over the UTF-8 bytes of JSON texts.

What a text must be is the schema's own semantics, made generable: declared members come in the order of
the schema, white space is bounded, digits are capped (see the file of each). A keyword that asserts something
is enforced or refused with the JSON Pointer to it. Arrays and objects become rules, taken from a worklist, so
that neither recursive schemas nor deep ones recurse here. This package knows no automaton and no vocabulary.
"""

from __future__ import annotations

from functools import cache, partial

from grammar_cache.constraint import Whitespace
from grammar_cache.dialects.json_schema.canonical_values import CanonicalValues
from grammar_cache.dialects.json_schema.containers import arrays, objects
from grammar_cache.dialects.json_schema.expressions import whitespace as spaces
from grammar_cache.dialects.json_schema.expressions.combine import alt, seq
from grammar_cache.dialects.json_schema.logic.assertions import FactReader
from grammar_cache.dialects.json_schema.logic.conjunction import Conjunctions
from grammar_cache.dialects.json_schema.logic.literal_texts import LiteralTexts, spellings
from grammar_cache.dialects.json_schema.logic.literals import Literals
from grammar_cache.dialects.json_schema.numbers import numbers
from grammar_cache.dialects.json_schema.rules import Rules, blame
from grammar_cache.dialects.json_schema.schema.document import Document
from grammar_cache.dialects.json_schema.schema.loading import Json, load
from grammar_cache.dialects.json_schema.schema.unenforced import Unenforced
from grammar_cache.dialects.json_schema.strings import strings
from grammar_cache.dialects.json_schema.strings.patterns import Patterns
from grammar_cache.dialects.json_schema.values import VALUE_RULE, Translation, Values
from grammar_cache.errors import GrammarError
from grammar_cache.expression import Bytes, Expression, Grammar, Ref
from grammar_cache.limits import DEFAULT_LIMITS, Limits

START_RULE = "root"


def parse(
    text: str, *, whitespace: Whitespace = "bounded", lenient: bool = False, limits: Limits = DEFAULT_LIMITS
) -> Grammar:
    """The JSON texts that satisfy a schema, of which the rule "root" derives whole ones.

    Raises GrammarSyntaxError, UnsupportedFeature or LimitExceeded, with the pointer to a keyword where one is
    to blame. Keywords that can't be enforced are dropped and reported in `ignored` if `lenient`.
    """
    return parse_value(load(text, limits), whitespace=whitespace, lenient=lenient, limits=limits)


def parse_value(schema: Json, *, whitespace: Whitespace, lenient: bool, limits: Limits) -> Grammar:
    """See `parse`, for a schema as `load` gives it."""
    document, layout = Document(schema), spaces.layout(whitespace)
    patterns, rules = Patterns(limits), Rules(limits)
    unenforced = Unenforced(lenient=lenient)
    conjunctions = Conjunctions(FactReader(document, patterns, unenforced), patterns, limits)
    integral_decimals = document.draft.has_integral_decimals
    literals = Literals(conjunctions, patterns, integral_decimals=integral_decimals)
    states = limits.rule_states
    translation = Translation(conjunctions, literals, patterns, layout, rules, unenforced, states)
    texts = LiteralTexts(layout, partial(spellings, integral_decimals=integral_decimals))
    values = Values(translation, texts, CanonicalValues)
    try:
        rules.written[START_RULE] = seq(layout.lead, values.value(("",)))
    except GrammarError as error:
        blame(error, "")
        raise
    rules.finish()
    return Grammar(rules.written | _own_rules(whitespace), START_RULE, unenforced.lines, rules.unique)


@cache
def _own_rules(whitespace: Whitespace) -> dict[str, Expression]:
    """The rules of JSON itself, the same objects for every schema."""
    layout, value = spaces.layout(whitespace), Ref(VALUE_RULE)
    kinds = (objects.RULE, arrays.RULE, strings.RULE, numbers.NUMBER_RULE)
    constants = (Bytes(b"true"), Bytes(b"false"), Bytes(b"null"))
    rules: dict[str, Expression] = {
        strings.RULE: strings.ANY_STRING,
        numbers.INTEGER_RULE: numbers.ANY_INTEGER,
        numbers.NUMBER_RULE: numbers.ANY_NUMBER,
        arrays.RULE: arrays.any_array(layout, value),
        objects.RULE: objects.any_object(layout, value),
        VALUE_RULE: alt((*map(Ref, kinds), *constants)),
    }
    return rules | spaces.rules(whitespace)
