"""Values in one text each, white space apart: items that may not repeat are told apart by their texts.

Scalars have one spelling (see `canonical_scalars`). Members of objects stand in one order, the same for all objects in
the items of an array. Members that aren't declared could stand in any, so there is one at most, and only alone.
"""

from __future__ import annotations

from grammar_cache.dialects.json_schema.containers import arrays, canonical_scalars, objects
from grammar_cache.dialects.json_schema.containers.member_order import MemberOrder
from grammar_cache.dialects.json_schema.expressions.combine import alt, seq
from grammar_cache.dialects.json_schema.logic.literal_texts import LiteralTexts
from grammar_cache.dialects.json_schema.logic.shape import Shape
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction, pointer
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.strings import strings
from grammar_cache.dialects.json_schema.values import VALUE_RULE, Translation, Values
from grammar_cache.expression import Expression, Ref


class CanonicalValues(Values):
    """Writes the values in the items of one array, each in one way only. `number`: tells its rules from others."""

    def __init__(self, translation: Translation, number: int) -> None:
        self.kind = f"canonical {number} "
        self.order = MemberOrder(translation.rules.spend).of
        super().__init__(translation, LiteralTexts(translation.layout, canonical_scalars.spellings, self.order))

    def _any(self, rule: str) -> Ref:
        if self._name(VALUE_RULE) not in self._rules.written:
            layout, value = self._translation.layout, Ref(self._name(VALUE_RULE))
            member = seq(canonical_scalars.STRING, layout.colon, value)
            of_types = (Ref(self._name(arrays.RULE)), Ref(self._name(objects.RULE)))
            self._rules.define(value.name, alt((canonical_scalars.SCALAR, *of_types)))
            self._rules.define(self._name(arrays.RULE), arrays.any_array(layout, value))
            self._rules.define(self._name(objects.RULE), objects.forms(layout, [member], or_empty=True))
            self._rules.define(self._name(strings.RULE), canonical_scalars.STRING)
        return Ref(self._name(rule))

    def _strings(self, conjunction: Conjunction, shapes: tuple[Shape, ...]) -> list[Expression]:
        """Strings that several arrays may hold are written once: what a format takes is long."""
        key = tuple([shape.text for shape in shapes if "string" in shape.types and shape.key and not shape.values])
        known = self._translation.canonical_strings
        if key not in known:
            known[key] = super()._strings(conjunction, shapes)
        return known[key]

    def _spelled(self, scalars: Expression) -> Expression:
        if scalars == Ref(strings.RULE):
            return self._any(strings.RULE)
        return canonical_scalars.canonical(scalars)

    def _listing(self, shape: Shape) -> dict[str, Json]:
        found = super()._listing(shape)
        spelled = {name: value for name, value in found.items() if self._literals.is_spelled(value)}
        if len(spelled) < len(found):
            self._translation.unenforced.leave_out(
                pointer(shape.key[0]), "around listed numbers without a spelling of their own"
            )
        return spelled

    def _name(self, rule: str) -> str:
        return f"{self.kind}{rule}"
