"""Rules and expressions of equal content, as one: what schemas repeat in other places is automated once.

Knows neither JSON nor schemas.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeAlias

from grammar_cache.expression import Alt, And, Bytes, CharClass, Expression, Not, Ref, Repeat, Seq

_Key: TypeAlias = "tuple[Hashable, ...]"


def shared(rules: Mapping[str, Expression], start: str) -> dict[str, Expression]:
    """The rules that `start` needs, those of equal content once, and equal expressions as one object."""
    return _Sharing(rules, start).kept()


class _Sharing:
    """A rule is settled after those that it names. One that is named before, being recursive, keeps its name."""

    def __init__(self, rules: Mapping[str, Expression], start: str) -> None:
        self._rules = rules
        self._start = start
        self._settled: dict[str, Ref] = {}
        self._named_before = {start}
        self._by_content: dict[int, Ref] = {}
        self._made: dict[_Key, Expression] = {}
        self._done: dict[int, Expression] = {}  # by identity; the rules keep what is in here alive

    def kept(self) -> dict[str, Expression]:
        found: dict[str, Expression] = {}
        nodes: dict[str, list[Expression]] = {}
        stack = [self._start]
        while stack:
            name = stack[-1]
            if name not in nodes:
                nodes[name], names = self._read(self._rules[name])
                stack.extend(other for other in names if other not in nodes)
                continue
            stack.pop()
            if name not in self._settled:
                for node in nodes[name]:
                    if id(node) not in self._done:
                        self._done[id(node)] = self._node(node)
                body = self._done[id(self._rules[name])]
                self._settled[name] = self._settle(name, body)
                if self._settled[name].name == name:
                    found[name] = body
        return dict(reversed(found.items()))

    def _read(self, root: Expression) -> tuple[list[Expression], dict[str, None]]:
        """The parts of an expression that are new, each after those inside of it, and the rules that they name."""
        ordered: list[Expression] = []
        names: dict[str, None] = {}
        met: set[int] = set()
        stack = [root]
        while stack:
            node = stack.pop()
            kind = type(node)
            if id(node) in self._done:
                continue
            if isinstance(node, Ref):
                names[node.name] = None
                ordered.append(node)
            elif kind is Bytes or kind is CharClass or id(node) in met:
                ordered.append(node)
            else:
                met.add(id(node))
                stack.append(node)
                stack.extend(_children(node))
        return ordered, names

    def _settle(self, name: str, body: Expression) -> Ref:
        """What stands for the rule from now on."""
        if name in self._named_before:
            return Ref(name)
        return self._by_content.setdefault(id(body), Ref(name))

    def _node(self, node: Expression) -> Expression:
        match node:
            case Bytes(data):
                return self._made.setdefault(("", data), node)
            case CharClass(ranges):
                return self._made.setdefault(("", ranges), node)
            case Ref(name):
                if name not in self._settled:
                    self._named_before.add(name)
                return self._made.setdefault(("", name), self._settled.get(name, node))
            case Repeat(item, least, most):
                return self._joined(node, (item,), least, most)
            case Not(item):
                return self._joined(node, (item,))
            case Seq(items) | Alt(items) | And(items):
                return self._joined(node, items)

    def _joined(self, node: Expression, items: tuple[Expression, ...], *more: int | None) -> Expression:
        made = tuple(self._done[id(item)] for item in items)
        key = (type(node).__name__, *map(id, made), *more)
        if key not in self._made:
            same = all(old is new for old, new in zip(items, made, strict=True))
            self._made[key] = node if same else _with(node, made)
        return self._made[key]


def _with(node: Expression, items: tuple[Expression, ...]) -> Expression:
    """The node with other items."""
    match node:
        case Repeat(_, least, most):
            return Repeat(items[0], least, most)
        case Not():
            return Not(items[0])
        case Seq():
            return Seq(items)
        case Alt():
            return Alt(items)
        case And():
            return And(items)
        case _:
            return node


def _children(node: Expression) -> tuple[Expression, ...]:
    if isinstance(node, Seq | Alt | And):
        return node.items
    return (node.item,) if isinstance(node, Repeat | Not) else ()
