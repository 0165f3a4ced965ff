"""Values of schemas as expressions: what stands where all schemas of a conjunction hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain

from grammar_cache.dialects.json_schema.containers import arrays, objects
from grammar_cache.dialects.json_schema.containers.writing import Order, Writer
from grammar_cache.dialects.json_schema.expressions.combine import alt, larger_than
from grammar_cache.dialects.json_schema.expressions.encoding import quoted
from grammar_cache.dialects.json_schema.expressions.whitespace import Layout
from grammar_cache.dialects.json_schema.logic.conjunction import Conjunctions
from grammar_cache.dialects.json_schema.logic.literal_texts import LiteralTexts
from grammar_cache.dialects.json_schema.logic.literals import Literals
from grammar_cache.dialects.json_schema.logic.shape import Shape
from grammar_cache.dialects.json_schema.numbers import numbers
from grammar_cache.dialects.json_schema.numbers.interval import Interval
from grammar_cache.dialects.json_schema.rule_names import rule_name
from grammar_cache.dialects.json_schema.rules import Rules, blame
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction, pointer
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.unenforced import Unenforced
from grammar_cache.dialects.json_schema.strings import strings
from grammar_cache.dialects.json_schema.strings.patterns import Patterns
from grammar_cache.dialects.json_schema.strings.string_facts import StringFacts
from grammar_cache.errors import GrammarError
from grammar_cache.expression import Bytes, Expression, Ref

VALUE_RULE = "json.value"
_USE = 40
"""Nodes that a use of a subschema makes, with what goes round it."""
_NEW_VALUE, _NEW_NUMBER, _NEW_STRING, _NEW_LISTING = 60, 250, 180, 360
"""Nodes that translating something new is charged as more, by its time: what a schema may ask for takes some 0.8 s.
MaskBench's schemas need up to 1.95 million."""
_INLINE = 8
"""Nodes up to which an expression is written out wherever it is used, instead of becoming a rule."""

_CONSTANTS = ("true", "false", "null")
_NOT_INTEGRAL = Interval(not_multiples=(Decimal(1),))


@dataclass(slots=True)
class Translation:
    """Translation of one document: what its schemas say, and what has been written of it. `unenforced`: the report of
    what isn't enforced. `states`: how many an automaton may have. `canonical_strings`: those that arrays whose items
    may not repeat have in common.
    """

    conjunctions: Conjunctions
    literals: Literals
    patterns: Patterns
    layout: Layout
    rules: Rules
    unenforced: Unenforced
    states: int
    canonical_strings: dict[tuple[StringFacts, ...], list[Expression]] = field(default_factory=dict)


class Values:
    """Writes the values of one document's schemas. `canonical` makes what writes each in one way only, for one array
    (see `CanonicalValues`); None where this does.
    """

    kind = ""
    """Begins the names of rules."""
    order: Order | None = None
    """Order of members, where that isn't the one of each schema."""

    def __init__(
        self,
        translation: Translation,
        texts: LiteralTexts,
        canonical: Callable[[Translation, int], Values] | None = None,
    ) -> None:
        self._translation = translation
        self._conjunctions = translation.conjunctions
        self._literals = translation.literals
        self._patterns = translation.patterns
        self._rules = translation.rules
        self._texts = texts
        self._canonical = canonical
        self._arrays = 0
        self._numbers: dict[tuple[Interval, bool], Expression] = {}
        self._values: dict[Conjunction, Expression] = {}
        self._of_types: dict[frozenset[str], Expression] = {}

    def value(self, conjunction: Conjunction) -> Expression:
        """The values that satisfy all these schemas."""
        found = self._values.get(conjunction)
        if found is None:
            said = self._conjunctions.first_met(conjunction)
            if said not in self._values:
                self._values[said] = self._new_value(said)
            found = self._values[conjunction] = self._values[said]
        self._rules.spend(_USE)
        return found

    def writer(self) -> Writer:
        """Gives containers what they need of this: what keeps a writer keeps all of it."""
        translation, literals = self._translation, self._literals
        return Writer(
            translation.layout,
            value=self.value,
            canonical=self.canonical,
            key=self._key,
            pattern=self._patterns.key,
            matches=self._patterns.matches,
            is_key=lambda conjunction, name: literals.satisfies(name, conjunction),
            listed=self._listed,
            types=lambda conjunction: frozenset().union(*(s.types for s in self._conjunctions.shapes(conjunction))),
            are_spelled=literals.are_spelled,
            order=self.order,
            define=self._rules.define,
            define_unique=self._rules.define_unique,
            refuse=translation.unenforced.refuse,
            leave_out=translation.unenforced.leave_out,
            spend=self._rules.spend,
            states=translation.states,
        )

    def canonical(self) -> Callable[[Conjunction], Expression]:
        """Gives what writes the values in the items of an array, each in one way only."""
        if self._canonical is None:
            return self.value
        self._arrays += 1
        return self._canonical(self._translation, self._arrays).value

    def _new_value(self, conjunction: Conjunction) -> Expression:
        self._rules.spend(_NEW_VALUE)
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
            self._rules.spend(_NEW_LISTING)
        found = alt(_apart((*self._strings(conjunction, shapes), *chain.from_iterable(map(self._parts, shapes)))))
        return self._shared("value", conjunction, found)

    def _parts(self, shape: Shape) -> list[Expression]:
        """One expression for each type that the shape leaves open, strings apart."""
        if shape.values:
            return [self._shared("enum", shape.key, alt(map(self._texts.written, self._listing(shape).values())))]
        if not shape.key:
            return [self._any(VALUE_RULE)]
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
        self._rules.spend(_NEW_STRING * len(several))
        found = self._spelled(strings.string([shape.text for shape in several], self._patterns, self._rules.define))
        if len(several) == 1:
            return [self._shared("string", several[0].key, found)]
        return [self._shared("strings", conjunction, found)]

    def _object(self, shape: Shape) -> Expression:
        facts = shape.objects
        if not facts:
            return self._any(objects.RULE)
        name = rule_name(f"{self.kind}object", shape.key)
        place = pointer(shape.key[0])
        return self._rules.later(name, place, lambda: objects.object_(facts, name, self.writer(), shape.names))

    def _array(self, shape: Shape) -> Expression:
        facts = shape.arrays
        if not facts:
            return self._any(arrays.RULE)
        name = rule_name(f"{self.kind}array", shape.key)
        return self._rules.later(name, pointer(shape.key[0]), lambda: arrays.array(facts, name, self.writer()))

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
                found |= {name: self._texts.written(value) for name, value in self._listing(shape).items()}
            elif shape.types <= set(_CONSTANTS):
                found |= {name: Bytes(name.encode()) for name in _CONSTANTS if name in shape.types}
            else:
                return None
        return found

    def _number(self, shape: Shape, interval: Interval, *, integral: bool) -> Expression:
        known = self._numbers.get((interval, integral))
        if known is not None:
            return known
        self._rules.spend(_NEW_NUMBER)
        name = f"{self.kind}{'integer' if integral else 'number'} {interval.name}"
        try:
            found = self._spelled(numbers.number(interval, name, self._rules.define, integral=integral))
        except GrammarError as error:
            blame(error, pointer(shape.key[0]))
            raise
        found = self._numbers[interval, integral] = self._ruled(name, found)
        return found

    def _shared(self, kind: str, key: Conjunction, expression: Expression) -> Expression:
        """A rule of its own for what is too large to be written out at each use."""
        return self._ruled(rule_name(f"{self.kind}{kind}", key), expression)

    def _ruled(self, name: str, expression: Expression) -> Expression:
        return self._rules.define(name, expression) if larger_than(expression, _INLINE) else expression

    def _any(self, rule: str) -> Ref:
        """The rule of JSON itself of that name."""
        return Ref(rule)

    def _spelled(self, scalars: Expression) -> Expression:
        """Scalars in the ways in which they may be written."""
        return scalars

    def _listing(self, shape: Shape) -> dict[str, Json]:
        """The values that a shape lists, by their identity."""
        return self._literals.values(shape)


def _apart(parts: Iterable[Expression]) -> Iterator[Expression]:
    """Parts without rules that are named again: alternatives often differ in one type only."""
    named: set[str] = set()
    for part in parts:
        if not isinstance(part, Ref) or part.name not in named:
            yield part
        if isinstance(part, Ref):
            named.add(part.name)
