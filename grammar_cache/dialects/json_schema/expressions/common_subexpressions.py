"""Rules and expressions of equal content, as one: what schemas repeat in other places is automated once.

Knows neither JSON nor schemas.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from grammar_cache.expression import (
    NOTHING,
    Alt,
    And,
    Automaton,
    Bytes,
    CharClass,
    Expression,
    Not,
    Ref,
    Repeat,
    Seq,
    references,
)

_Key: TypeAlias = "tuple[Hashable, ...]"

_SEVERAL = (Seq, Alt, And)
_ONE = (Repeat, Not)
_LEAVES = frozenset((Bytes, CharClass, Ref, Automaton))


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """Rules that many grammars have in common, each of which keeps its name.

    `names`: the rules that each names. `made` and `done` are what `_Sharing` knows of their parts.
    """

    rules: Mapping[str, Expression]
    names: Mapping[str, Sequence[str]]
    made: Mapping[_Key, Expression]
    done: Mapping[int, Expression]

    @staticmethod
    def of(rules: Mapping[str, Expression]) -> Library:
        """The rules may name each other, and no others."""
        sharing = _Sharing(rules, Library(dict.fromkeys(rules, NOTHING), {}, {}, {}))
        own = {name: sharing.written(body, sharing.read(body)[0]) for name, body in rules.items()}
        done = {id(node): node for node in sharing.made.values()}
        return Library(own, {name: references(body) for name, body in own.items()}, sharing.made, done)


NO_LIBRARY = Library({}, {}, {}, {})


def shared(rules: Mapping[str, Expression], start: str, library: Library = NO_LIBRARY) -> dict[str, Expression]:
    """The rules that `start` needs, those of equal content once, and equal expressions as one object.

    Rules of the library needn't be among the others. They and their parts are the same objects in every grammar.
    """
    return _Sharing(rules, library).kept(start)


class _Sharing:
    """A rule is settled after those that it names. One that is named before, being recursive, keeps its name."""

    def __init__(self, rules: Mapping[str, Expression], library: Library) -> None:
        self._rules = rules
        self._library = library
        self._settled = {name: Ref(name) for name in library.rules}
        self._by_content = {id(body): Ref(name) for name, body in library.rules.items()}
        self._named_before: set[str] = set()
        self.made = dict(library.made)
        self.done = dict(library.done)  # by identity; the rules keep what is in here alive

    def kept(self, start: str) -> dict[str, Expression]:
        self._named_before.add(start)
        found: dict[str, Expression] = {}
        nodes: dict[str, list[Expression]] = {}
        stack = [start]
        while stack:
            name = stack[-1]
            if name in self._library.rules:
                stack.pop()
                if name not in found:
                    found[name] = self._library.rules[name]
                    stack.extend(self._library.names[name])
                continue
            if name not in nodes:
                nodes[name], names = self.read(self._rules[name])
                stack.extend(other for other in names if other not in nodes)
                continue
            stack.pop()
            if name not in self._settled:
                body = self.written(self._rules[name], nodes[name])
                self._settled[name] = self._settle(name, body)
                if self._settled[name].name == name:
                    found[name] = body
        return dict(reversed(found.items()))

    def written(self, body: Expression, nodes: Iterable[Expression]) -> Expression:
        """Expression that stands for a body, given what was read of it."""
        for node in nodes:
            if id(node) not in self.done:
                self.done[id(node)] = self._node(node)
        return self.done[id(body)]

    def read(self, root: Expression) -> tuple[list[Expression], dict[str, None]]:
        """The parts of an expression that are new, each after those inside of it, and the rules that they name."""
        ordered: list[Expression] = []
        names: dict[str, None] = {}
        met: set[int] = set()
        done, stack = self.done, [root]
        while stack:
            node = stack.pop()
            key = id(node)
            if key in done:
                continue
            if type(node) is Ref:
                names[node.name] = None
            if key in met or type(node) in _LEAVES:
                ordered.append(node)
            else:
                met.add(key)
                stack.append(node)
                stack.extend(_children(node))
        return ordered, names

    def _settle(self, name: str, body: Expression) -> Ref:
        """Reference that stands for the rule from now on."""
        if name in self._named_before:
            return Ref(name)
        return self._by_content.setdefault(id(body), Ref(name))

    def _node(self, node: Expression) -> Expression:
        if isinstance(node, _SEVERAL):
            return self._joined(node, node.items)
        if isinstance(node, Bytes):
            return self.made.setdefault(("", node.data), node)
        if isinstance(node, Ref):
            if node.name not in self._settled:
                self._named_before.add(node.name)
            return self.made.setdefault(("", node.name), self._settled.get(node.name, node))
        if isinstance(node, CharClass):
            return self.made.setdefault(("", node.ranges), node)
        if isinstance(node, Repeat):
            return self._joined(node, (node.item,), node.least, node.most)
        if isinstance(node, Not):
            return self._joined(node, (node.item,))
        return self.made.setdefault(("", node.states, node.edges.tobytes(), node.ends.tobytes()), node)

    def _joined(self, node: Expression, items: tuple[Expression, ...], *more: int | None) -> Expression:
        old = tuple(map(id, items))
        made = tuple(map(self.done.__getitem__, old))
        new = tuple(map(id, made))
        key: _Key = (type(node).__name__, new, more)
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = node if old == new else _with(node, made)
        return found


def _with(node: Expression, items: tuple[Expression, ...]) -> Expression:
    """The node with other items."""
    if isinstance(node, _SEVERAL):
        return type(node)(items)
    if isinstance(node, Repeat):
        return Repeat(items[0], node.least, node.most)
    return Not(items[0]) if isinstance(node, Not) else node


def _children(node: Expression) -> tuple[Expression, ...]:
    if isinstance(node, _SEVERAL):
        return node.items
    return (node.item,) if isinstance(node, _ONE) else ()
