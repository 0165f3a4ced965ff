"""A JSON Schema as a grammar over the UTF-8 bytes of JSON texts.

What a text must be is the schema's own semantics, made generable: declared members come in the order of
the schema, white space is bounded, digits are capped (see the file of each). A keyword that asserts something
is enforced or refused with the JSON Pointer to it. Arrays and objects become rules, taken from a worklist, so
that neither recursive schemas nor deep ones recurse here. This package knows no automaton and no vocabulary.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import cache
from itertools import chain

from grammar_cache.constraint import Whitespace
from grammar_cache.dialects.json_schema.containers import arrays, objects
from grammar_cache.dialects.json_schema.containers.writing import Writer
from grammar_cache.dialects.json_schema.expressions import whitespace as spaces
from grammar_cache.dialects.json_schema.expressions.combine import alt, larger_than, seq
from grammar_cache.dialects.json_schema.expressions.encoding import quoted
from grammar_cache.dialects.json_schema.logic.assertions import FactReader
from grammar_cache.dialects.json_schema.logic.conjunction import Conjunctions
from grammar_cache.dialects.json_schema.logic.literals import Literals
from grammar_cache.dialects.json_schema.logic.shape import Shape
from grammar_cache.dialects.json_schema.numbers import numbers
from grammar_cache.dialects.json_schema.numbers.numbers import Interval
from grammar_cache.dialects.json_schema.rule_names import rule_name
from grammar_cache.dialects.json_schema.schema.atoms import TRUE, Conjunction, pointer
from grammar_cache.dialects.json_schema.schema.document import Document
from grammar_cache.dialects.json_schema.schema.loading import Json, load
from grammar_cache.dialects.json_schema.strings import strings
from grammar_cache.errors import GrammarError, LimitExceeded
from grammar_cache.expression import Automaton, Bytes, Expression, Grammar, Ref, Unique
from grammar_cache.limits import Limits

START_RULE = "root"
VALUE_RULE = "json.value"
_DEFAULT = Limits()
_USE = 40
"""Nodes that a use of a subschema makes, with what goes round it."""
_NEW_VALUE, _NEW_NUMBER, _NEW_STRING, _NEW_RULE, _NEW_CONTAINER, _NEW_LISTING = 60, 250, 180, 400, 400, 360
"""Nodes that translating something new is charged as more, by its time: what a schema may ask for takes some 0.8 s.
MaskBench's schemas need up to 1.95 million."""
_INLINE = 8
"""Nodes up to which an expression is written out wherever it is used, instead of becoming a rule."""

_CONSTANTS = ("true", "false", "null")
_NOT_INTEGRAL = Interval(not_multiples=(Decimal(1),))


def parse(
    text: str, *, whitespace: Whitespace = "bounded", lenient: bool = False, limits: Limits = _DEFAULT
) -> Grammar:
    """The JSON texts that satisfy a schema, of which the rule "root" derives whole ones.

    Raises GrammarSyntaxError, UnsupportedFeature or LimitExceeded, with the pointer to a keyword where one is
    to blame. Keywords that can't be enforced are dropped and reported in `ignored` if `lenient`.
    """
    return parse_value(load(text, limits), whitespace=whitespace, lenient=lenient, limits=limits)


def parse_value(
    schema: Json, *, whitespace: Whitespace = "bounded", lenient: bool = False, limits: Limits = _DEFAULT
) -> Grammar:
    """See `parse`, for a schema as `load` gives it."""
    document = Document(schema)
    patterns = strings.Patterns(limits)
    reader = FactReader(document, patterns, lenient=lenient)
    translator = _Translator(document, reader, patterns, spaces.layout(whitespace), limits)
    rules = translator.translate() | _own_rules(whitespace)
    return Grammar(rules, START_RULE, reader.ignored, translator.unique)


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


class _Translator:
    """Writes the rules of one document; each is named by the schemas that hold together in it."""

    def __init__(
        self,
        document: Document,
        reader: FactReader,
        patterns: strings.Patterns,
        layout: spaces.Layout,
        limits: Limits,
    ) -> None:
        self.layout = layout
        self._limits = limits
        self._patterns = patterns
        self._conjunctions = Conjunctions(reader, self._patterns, limits)
        integral_decimals = document.draft.has_integral_decimals
        self._literals = Literals(self._conjunctions, self._patterns, layout, integral_decimals=integral_decimals)
        self._refuse = reader.refuse
        self._numbers: dict[tuple[Interval, bool], Expression] = {}
        self._values: dict[Conjunction, Expression] = {}
        self._of_types: dict[frozenset[str], Expression] = {}
        self._rules: dict[str, Expression] = {}
        self.unique: dict[str, Unique] = {}
        self._names: set[str] = set()
        self._waiting: deque[tuple[str, str, Callable[[Writer], Expression]]] = deque()
        self._fuel = limits.expression_size

    def translate(self) -> dict[str, Expression]:
        place, writer = "", self._writer()
        try:
            self._rules[START_RULE] = seq(self.layout.lead, self._value(("",)))
            while self._waiting:
                name, place, body = self._waiting.popleft()
                self._rules[name] = body(writer)
        except GrammarError as error:
            _blame(error, place)
            raise
        return self._rules

    def _writer(self) -> Writer:
        """Gives containers what they need of this translator, which would never be freed at once if it kept that."""
        return Writer(
            self.layout,
            value=self._value,
            key=self._key,
            pattern=self._patterns.key,
            matches=self._patterns.matches,
            is_key=lambda conjunction, name: self._literals.satisfies(name, conjunction),
            listed=self._listed,
            types=lambda conjunction: frozenset().union(*(s.types for s in self._conjunctions.shapes(conjunction))),
            scalars=self._literals.scalars,
            define=self._rule,
            define_unique=self._unique_rule,
            refuse=self._refuse,
            spend=self._spend,
            states=self._limits.rule_states,
        )

    def _value(self, conjunction: Conjunction) -> Expression:
        """The values that satisfy all these schemas."""
        found = self._values.get(conjunction)
        if found is None:
            said = tuple([atom for atom in dict.fromkeys(conjunction) if atom != TRUE])
            if said not in self._values:
                self._values[said] = self._new_value(said)
            found = self._values[conjunction] = self._values[said]
        self._spend(_USE)
        return found

    def _new_value(self, conjunction: Conjunction) -> Expression:
        self._spend(_NEW_VALUE)
        shapes = self._conjunctions.shapes(conjunction)
        if len(shapes) == 1 and shapes[0].unrestricted:
            return self._any_of(shapes[0].types, conjunction, shapes)
        return self._written(conjunction, shapes)

    def _any_of(self, types: frozenset[str], conjunction: Conjunction, shapes: tuple[Shape, ...]) -> Expression:
        """All values of these types: what most schemas ask for is written once."""
        if types not in self._of_types:
            self._of_types[types] = self._written(conjunction, shapes)
        return self._of_types[types]

    def _written(self, conjunction: Conjunction, shapes: tuple[Shape, ...]) -> Expression:
        if any(shape.values for shape in shapes):
            self._spend(_NEW_LISTING)
        found = alt(_apart((*self._strings(conjunction, shapes), *chain.from_iterable(map(self._parts, shapes)))))
        return self._shared("value", conjunction, found)

    def _parts(self, shape: Shape) -> list[Expression]:
        """One expression for each type that the shape leaves open, strings apart."""
        if shape.values:
            return [self._shared("enum", shape.key, self._literals.enumeration(shape))]
        if not shape.key:
            return [Ref(VALUE_RULE)]
        types, parts = shape.types, []
        if "object" in types:
            parts.append(self._object(shape))
        if "array" in types:
            parts.append(self._array(shape))
        if "integer" in types:
            parts.append(self._number(shape, shape.interval, integral="number" not in types))
        elif "number" in types:
            parts.append(self._number(shape, shape.interval.both(_NOT_INTEGRAL), integral=False))
        parts.extend(Bytes(name.encode()) for name in _CONSTANTS if name in types)
        return parts

    def _strings(self, conjunction: Conjunction, shapes: tuple[Shape, ...]) -> list[Expression]:
        """The strings of all the shapes, in one expression, so that one automaton tells them all."""
        several = [shape for shape in shapes if "string" in shape.types and shape.key and not shape.values]
        if not several:
            return []
        self._spend(_NEW_STRING * len(several))
        found = strings.string([shape.text for shape in several], self._patterns, self._rule)
        if len(several) == 1:
            return [self._shared("string", several[0].key, found)]
        return [self._shared("strings", conjunction, found)]

    def _object(self, shape: Shape) -> Expression:
        facts = shape.objects
        if not facts:
            return Ref(objects.RULE)
        name = rule_name("object", shape.key)
        return self._later(name, shape, lambda writer: objects.object_(facts, name, writer, shape.names))

    def _array(self, shape: Shape) -> Expression:
        facts = shape.arrays
        if not facts:
            return Ref(arrays.RULE)
        name = rule_name("array", shape.key)
        return self._later(name, shape, lambda writer: arrays.array(facts, name, writer))

    def _key(self, conjunction: Conjunction) -> Expression:
        """The strings that satisfy all these schemas, as keys."""
        found: list[Expression] = []
        for shape in self._conjunctions.shapes(conjunction):
            if shape.values:
                found += [quoted(value) for value in self._literals.values(shape).values() if isinstance(value, str)]
            elif "string" in shape.types:
                found.append(strings.key(shape.text, self._patterns))
        return alt(found)

    def _listed(self, conjunction: Conjunction) -> dict[str, Expression] | None:
        """The values that satisfy all these schemas, if they are enumerated."""
        found: dict[str, Expression] = {}
        for shape in self._conjunctions.shapes(conjunction):
            if shape.values:
                values = self._literals.values(shape)
                found |= {name: self._literals.written(value) for name, value in values.items()}
            elif shape.types <= set(_CONSTANTS):
                found |= {name: Bytes(name.encode()) for name in _CONSTANTS if name in shape.types}
            else:
                return None
        return found

    def _number(self, shape: Shape, interval: Interval, *, integral: bool) -> Expression:
        known = self._numbers.get((interval, integral))
        if known is not None:
            return known
        self._spend(_NEW_NUMBER)
        name = f"{'integer' if integral else 'number'} {interval.name}"
        try:
            found = numbers.number(interval, name, self._rule, integral=integral)
        except GrammarError as error:
            _blame(error, pointer(shape.key[0]))
            raise
        written = self._numbers[interval, integral] = self._rule(name, found) if larger_than(found, _INLINE) else found
        return written

    def _shared(self, kind: str, key: Conjunction, expression: Expression) -> Expression:
        """A rule of its own for what is too large to be written out at each use."""
        return self._rule(rule_name(kind, key), expression) if larger_than(expression, _INLINE) else expression

    def _rule(self, name: str, expression: Expression) -> Ref:
        self._claim(name)
        self._spend(_NEW_RULE * (expression.states if isinstance(expression, Automaton) else 1))
        self._rules[name] = expression
        return Ref(name)

    def _unique_rule(self, name: str, first: Expression, further: Expression, most: int | None) -> Ref:
        self.unique[name] = Unique(self._rule(f"{name} further", further).name, most)
        return self._rule(name, first)

    def _later(self, name: str, shape: Shape, body: Callable[[Writer], Expression]) -> Ref:
        if name not in self._names:
            self._claim(name)
            self._spend(_NEW_CONTAINER)
            self._waiting.append((name, pointer(shape.key[0]), body))
        return Ref(name)

    def _claim(self, name: str) -> None:
        self._names.add(name)
        if len(self._names) > self._limits.rules:
            raise LimitExceeded(f"the schema makes more than {self._limits.rules} rules", limit="rules")

    def _spend(self, nodes: int) -> None:
        """Each use of a subschema is a node or more: a schema of a few kilobytes can ask for millions."""
        self._fuel -= nodes
        if self._fuel < 0:
            message = f"the schema makes expressions of more than {self._limits.expression_size} nodes"
            raise LimitExceeded(message, limit="expression_size")


def _blame(error: GrammarError, place: str) -> None:
    """Give the pointer to a schema to a refusal without one."""
    if error.pointer is None:
        error.pointer = place


def _apart(parts: Iterable[Expression]) -> Iterator[Expression]:
    """Parts without rules that are named again: alternatives often differ in one type only."""
    named: set[str] = set()
    for part in parts:
        if not isinstance(part, Ref) or part.name not in named:
            yield part
        if isinstance(part, Ref):
            named.add(part.name)
