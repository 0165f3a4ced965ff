"""Rules of one document as they are written, and how much of what a document may ask for has been."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from grammar_cache.dialects.json_schema.expressions import whitespace
from grammar_cache.errors import GrammarError, LimitExceeded
from grammar_cache.expression import Automaton, Expression, Ref, Required, Unique, references
from grammar_cache.limits import Limits

_NEW_RULE, _NEW_CONTAINER = 400, 400
"""Nodes that a new rule, and that of a container, are charged as more, by their time."""


class Rules:
    """Rules by name. `unique`: of arrays whose items may not repeat, see `expression.Grammar`. Bodies of arrays and
    objects wait in a worklist, so that neither recursive schemas nor deep ones recurse.
    """

    def __init__(self, limits: Limits) -> None:
        self.written: dict[str, Expression] = {}
        self.unique: dict[str, Unique] = {}
        self._limits = limits
        self._names: set[str] = set()
        self._waiting: deque[tuple[str, str, Callable[[], Expression]]] = deque()
        self._fuel = limits.expression_size

    def define(self, name: str, expression: Expression) -> Ref:
        self._claim(name)
        self.spend(_NEW_RULE * (expression.states if isinstance(expression, Automaton) else 1))
        self.written[name] = expression
        return Ref(name)

    def define_unique(
        self,
        name: str,
        first: Expression,
        further: Expression,
        most: int | None,
        required: tuple[int, Expression, str] | None,
    ) -> Ref:
        """The rule of the first of items that may not repeat, told that of further ones and the most items. `required`:
        how many there have to be, if they are several, one of them alone, and the pointer to their schema.
        """
        needed = None
        if required is not None:
            least, alone, pointer = required
            gap = whitespace.RULE if whitespace.RULE in references(alone) else None
            needed = Required(least, self.define(f"{name} required", alone).name, gap, pointer=pointer)
        self.unique[name] = Unique(self.define(f"{name} further", further).name, most, needed)
        return self.define(name, first)

    def later(self, name: str, place: str, body: Callable[[], Expression]) -> Ref:
        """A rule whose body is written by `finish`. `place`: the pointer to its schema, for messages."""
        if name not in self._names:
            self._claim(name)
            self.spend(_NEW_CONTAINER)
            self._waiting.append((name, place, body))
        return Ref(name)

    def finish(self) -> None:
        """Writes all bodies that wait, and those that they ask for."""
        place = ""
        try:
            while self._waiting:
                name, place, body = self._waiting.popleft()
                self.written[name] = body()
        except GrammarError as error:
            self._waiting.clear()  # what waits knows who asked for it, who would never be freed at once
            blame(error, place)
            raise

    def spend(self, nodes: int) -> None:
        """Each use of a subschema is a node or more: a schema of a few kilobytes can ask for millions."""
        self._fuel -= nodes
        if self._fuel < 0:
            message = f"the schema makes expressions of more than {self._limits.expression_size} nodes"
            raise LimitExceeded(message, limit="expression_size")

    def _claim(self, name: str) -> None:
        self._names.add(name)
        if len(self._names) > self._limits.rules:
            raise LimitExceeded(f"the schema makes more than {self._limits.rules} rules", limit="rules")


def blame(error: GrammarError, place: str) -> None:
    """Give the pointer to a schema to a refusal without one."""
    if error.pointer is None:
        error.pointer = place
