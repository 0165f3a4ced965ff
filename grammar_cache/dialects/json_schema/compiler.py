"""A JSON Schema as a grammar over the UTF-8 bytes of JSON texts.

What a text must be is the schema's own semantics, made generable: declared members come in the order of
the schema, white space is bounded, digits are capped (see the file of each). A keyword that asserts something
is enforced or refused with the JSON Pointer to it. Arrays and objects become rules, taken from a worklist, so
that neither recursive schemas nor deep ones recurse here. This package knows no automaton and no vocabulary.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from urllib.parse import quote

from grammar_cache.constraint import Whitespace
from grammar_cache.dialects.json_schema import arrays, numbers, objects, strings
from grammar_cache.dialects.json_schema import whitespace as spaces
from grammar_cache.dialects.json_schema.combine import alt, larger_than, seq
from grammar_cache.dialects.json_schema.conjunction import Conjunction, Conjunctions, Shape
from grammar_cache.dialects.json_schema.document import Document
from grammar_cache.dialects.json_schema.facts import FactReader
from grammar_cache.dialects.json_schema.literals import Literals
from grammar_cache.dialects.json_schema.loading import load
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Bytes, Expression, Grammar, Ref, references
from grammar_cache.limits import Limits

START_RULE = "root"
VALUE_RULE = "json.value"
_DEFAULT = Limits()
_MEMBER_SIZE = 40
"""Nodes that a member of an object makes, with what goes round it."""
_INLINE = 8
"""Nodes up to which an expression is written out wherever it is used, instead of becoming a rule."""


def parse(
    text: str, *, whitespace: Whitespace = "bounded", lenient: bool = False, limits: Limits = _DEFAULT
) -> Grammar:
    """The JSON texts that satisfy a schema, of which the rule "root" derives whole ones.

    Raises GrammarSyntaxError, UnsupportedFeature or LimitExceeded, with the pointer to a keyword where one is
    to blame. With `lenient`, keywords that can't be enforced are dropped and reported in `ignored`.
    """
    document = Document(load(text, limits))
    reader = FactReader(document, lenient=lenient)
    translator = _Translator(document, reader, spaces.layout(whitespace), limits)
    rules = _library(translator.layout) | spaces.rules(whitespace) | translator.translate()
    return Grammar(_reachable(rules), START_RULE, tuple(reader.ignored))


def _library(layout: spaces.Layout) -> dict[str, Expression]:
    """The rules of JSON itself, the same for every schema."""
    value = Ref(VALUE_RULE)
    kinds = (objects.RULE, arrays.RULE, strings.RULE, numbers.NUMBER_RULE)
    constants = (Bytes(b"true"), Bytes(b"false"), Bytes(b"null"))
    return {
        strings.RULE: strings.ANY_STRING,
        numbers.INTEGER_RULE: numbers.ANY_INTEGER,
        numbers.NUMBER_RULE: numbers.ANY_NUMBER,
        arrays.RULE: arrays.any_array(layout, value),
        objects.RULE: objects.any_object(layout, value),
        VALUE_RULE: alt((*map(Ref, kinds), *constants)),
    }


class _Translator:
    """Writes the rules of one document; each is named by the schemas that hold together in it."""

    def __init__(self, document: Document, reader: FactReader, layout: spaces.Layout, limits: Limits) -> None:
        self.layout = layout
        self._limits = limits
        self._conjunctions = Conjunctions(reader, limits)
        self._patterns = strings.Patterns(limits)
        integral_decimals = document.draft.has_integral_decimals
        self._literals = Literals(self._conjunctions, self._patterns, layout, integral_decimals=integral_decimals)
        self._values: dict[Conjunction, Expression] = {}
        self._rules: dict[str, Expression] = {}
        self._names: set[str] = set()
        self._waiting: deque[tuple[str, Callable[[], Expression]]] = deque()
        self._fuel = limits.expression_size

    def translate(self) -> dict[str, Expression]:
        self._rules[START_RULE] = seq(self.layout.lead, self._value(("",)))
        while self._waiting:
            name, body = self._waiting.popleft()
            self._rules[name] = body()
        return self._rules

    def _value(self, conjunction: Conjunction) -> Expression:
        """The values that satisfy all these schemas."""
        conjunction = tuple(dict.fromkeys(conjunction))
        if conjunction not in self._values:
            shapes = self._conjunctions.shapes(conjunction)
            found = alt(part for shape in shapes for part in self._parts(shape))
            self._values[conjunction] = self._shared("value", conjunction, found)
        self._spend()
        return self._values[conjunction]

    def _parts(self, shape: Shape) -> list[Expression]:
        """One expression for each type that the shape leaves open."""
        if shape.values:
            return [self._shared("enum", shape.key, self._literals.enumeration(shape))]
        if not shape.key:
            return [Ref(VALUE_RULE)]
        types, parts = shape.types, []
        if "object" in types:
            parts.append(self._object(shape))
        if "array" in types:
            parts.append(self._array(shape))
        if "string" in types:
            parts.append(self._shared("string", shape.key, strings.string(shape.text, self._patterns)))
        if "integer" in types:
            parts.append(self._number(shape.interval, integral="number" not in types))
        if "boolean" in types:
            parts.extend((Bytes(b"true"), Bytes(b"false")))
        if "null" in types:
            parts.append(Bytes(b"null"))
        return parts

    def _object(self, shape: Shape) -> Expression:
        facts = shape.objects
        if not facts:
            return Ref(objects.RULE)
        return self._later("object", shape.key, lambda: objects.object_(facts, self.layout, self._value))

    def _array(self, shape: Shape) -> Expression:
        facts = shape.arrays
        if not facts:
            return Ref(arrays.RULE)
        return self._later("array", shape.key, lambda: arrays.array(facts, self.layout, self._value))

    def _number(self, interval: numbers.Interval, *, integral: bool) -> Expression:
        found = numbers.number(interval, integral=integral)
        if not larger_than(found, _INLINE):
            return found
        return self._rule(f"{'integer' if integral else 'number'} {interval.name}", found)

    def _shared(self, kind: str, key: Conjunction, expression: Expression) -> Expression:
        """A rule of its own for what is too large to be written out at each use."""
        return self._rule(_name(kind, key), expression) if larger_than(expression, _INLINE) else expression

    def _rule(self, name: str, expression: Expression) -> Ref:
        self._claim(name)
        self._rules[name] = expression
        return Ref(name)

    def _later(self, kind: str, key: Conjunction, body: Callable[[], Expression]) -> Ref:
        name = _name(kind, key)
        if name not in self._names:
            self._claim(name)
            self._waiting.append((name, body))
        return Ref(name)

    def _claim(self, name: str) -> None:
        self._names.add(name)
        if len(self._names) > self._limits.rules:
            raise LimitExceeded(f"the schema makes more than {self._limits.rules} rules", limit="rules")

    def _spend(self) -> None:
        """Each use of a subschema is a node or more: a schema of a few kilobytes can ask for millions."""
        self._fuel -= _MEMBER_SIZE
        if self._fuel < 0:
            message = f"the schema makes expressions of more than {self._limits.expression_size} nodes"
            raise LimitExceeded(message, limit="expression_size")


def _name(kind: str, key: Conjunction) -> str:
    """Unambiguous: in the fragment form of a JSON Pointer there is no space."""
    return f"{kind} {' & '.join('#' + quote(pointer, safe='/$') for pointer in key)}"


def _reachable(rules: dict[str, Expression]) -> dict[str, Expression]:
    """Without the rules that the start needs not."""
    kept: dict[str, Expression] = {}
    waiting = [START_RULE]
    while waiting:
        name = waiting.pop()
        if name not in kept:
            kept[name] = rules[name]
            waiting.extend(references(rules[name]))
    return kept
