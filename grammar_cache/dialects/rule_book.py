"""Rules of several grammars as those of one: names that mean two things are told apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import (
    Automaton,
    Composite,
    Expression,
    Grammar,
    Not,
    Ref,
    Repeat,
    Unique,
    parts_of,
    references,
)
from grammar_cache.limits import Limits


class RuleBook:
    """Rules of a grammar that is made of others."""

    def __init__(self, limits: Limits) -> None:
        self.rules: dict[str, Expression] = {}
        self.ignored: list[str] = []
        self.unique: dict[str, Unique] = {}
        self._limits = limits
        self._count = 0

    def define(self, body: Expression) -> Ref:
        """A new rule with this body."""
        name = f"part {len(self.rules)}"
        self._keep(name, body)
        return Ref(name)

    def include(self, grammar: Grammar) -> Ref:
        """The start rule of a grammar whose rules are taken over.

        Rules that are there already, as objects, are shared: those of JSON itself.
        """
        self._count += 1
        known = {name: body for name, body in grammar.rules.items() if name in self.rules}
        taken = {name for name, body in known.items() if self.rules[name] is not body or name in grammar.unique}
        todo = list(taken)
        users: dict[str, list[str]] = {}
        for name, body in grammar.rules.items():
            if self.rules.get(name) is body:
                for called in references(body):
                    users.setdefault(called, []).append(name)
        while todo:  # a rule that is shared means other rules by their names than this grammar does
            more = [name for name in users.get(todo.pop(), ()) if name not in taken]
            taken.update(more)
            todo += more
        names = {name: f"{self._count} {name}" for name in sorted(taken)}
        for name, body in grammar.rules.items():
            self._keep(names.get(name, name), renamed(body, names) if names else body)
        for name, unique in grammar.unique.items():
            further = names.get(unique.further, unique.further)
            required = unique.required
            if required is not None:
                gap = required.gap and names.get(required.gap, required.gap)
                required = replace(required, item=names.get(required.item, required.item), gap=gap)
            self.unique[names.get(name, name)] = replace(unique, further=further, required=required)
        return Ref(names.get(grammar.start, grammar.start))

    def _keep(self, name: str, body: Expression) -> None:
        self.rules[name] = body
        if len(self.rules) > self._limits.rules:
            raise LimitExceeded(f"the grammar has more than {self._limits.rules} rules", limit="rules")


def renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
    """The expression with other names of rules; parts without any of them stay the same objects."""
    done: dict[int, Expression] = {}
    todo: list[tuple[Expression, bool]] = [(expression, False)]
    while todo:
        node, ready = todo.pop()
        if id(node) in done:
            continue
        if isinstance(node, Ref):
            done[id(node)] = Ref(names[node.name]) if node.name in names else node
        elif not isinstance(node, Composite):
            done[id(node)] = node
        elif not ready:
            todo.append((node, True))
            todo += [(part, False) for part in parts_of(node)]
        else:
            done[id(node)] = _with_parts(node, tuple(done[id(part)] for part in parts_of(node)))
    return done[id(expression)]


def _with_parts(node: Composite, parts: tuple[Expression, ...]) -> Expression:
    if all(one is other for one, other in zip(parts, parts_of(node), strict=True)):
        return node
    if isinstance(node, Repeat):
        return Repeat(parts[0], node.least, node.most)
    if isinstance(node, Automaton):
        return replace(node, items=parts)
    return Not(parts[0]) if isinstance(node, Not) else type(node)(parts)
