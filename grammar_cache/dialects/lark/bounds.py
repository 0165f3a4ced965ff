"""Bounds on what Lark would make of a grammar's rules, estimated before it is asked to.

Lark multiplies alternatives out (`("a"|"b") ("c"|"d")` has four), copies what `~` repeats, and writes a rule for each
use of a template. Each of that can be exponential in the text. The estimates here are upper bounds, and cheap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lark import Tree

MAX_SYMBOLS = 200_000
"""Symbols of all rules, multiplied out: about a second of Lark's time. Its Python grammar has 2,000."""
MAX_GROUPS = 100
"""Groups one after the other. Lark's walk over them is recursive."""
MAX_INSTANCES = 1_000
"""Different uses of templates."""
MAX_NAME = 2_000
"""Characters of the name of one use of a template, which spells out its arguments."""

Node: TypeAlias = Any
"""A `Tree`, or a leaf of one: a symbol or a token."""


class TooLarge(Exception):
    """Name, as a phrase, of what grows too large."""


@dataclass(frozen=True, slots=True)
class RuleTree:
    """A rule as Lark has read it; with parameters it is a template."""

    name: str
    parameters: tuple[str, ...]
    tree: Tree[Any]


def check_expansion(rules: Iterable[RuleTree]) -> None:
    """Raises `TooLarge`."""
    by_name = {rule.name: rule for rule in rules}
    symbols = {rule.name: _symbols(rule.tree) for rule in by_name.values()}
    total = sum(symbols[rule.name] for rule in by_name.values() if not rule.parameters)
    for template in _instances(by_name):
        total += symbols[template]
    if total > MAX_SYMBOLS:
        raise TooLarge(f"more than {MAX_SYMBOLS} symbols once alternatives and repetitions are multiplied out")


@dataclass(frozen=True, slots=True)
class _Extent:
    """Extent of a part of a rule: its alternatives, and the symbols of all of them. Floats: they may be
    astronomical.
    """

    alternatives: float = 1.0
    symbols: float = 1.0

    def or_empty(self) -> _Extent:
        return _Extent(self.alternatives + 1, self.symbols + 1)


def _symbols(tree: Tree[Any]) -> float:
    """The symbols of a rule and of the rules that Lark makes of its repetitions."""
    extents: dict[int, _Extent] = {}
    made = 0.0
    for node in tree.iter_subtrees():  # from the leaves up
        parts = [extents.get(id(child), _Extent()) for child in node.children]
        match node.data:
            case "expansions":
                extent = _Extent(_sum(part.alternatives for part in parts), _sum(part.symbols for part in parts))
            case "expansion":
                if sum(map(_is_group, node.children)) > MAX_GROUPS:
                    raise TooLarge(f"more than {MAX_GROUPS} groups or repetitions one after the other")
                extent = _sequence(parts)
            case "alias":
                extent = parts[0]
            case "maybe":
                extent = parts[0].or_empty()
            case "expr":
                extent, more = _repetition(parts[0], [str(child) for child in node.children[1:]])
                made += more
            case _:
                extent = _Extent()
        extents[id(node)] = extent
    return made + extents[id(tree)].symbols


def _is_group(node: Node) -> bool:
    """Whether Lark multiplies this part of a sequence out; a `+` is a rule of its own."""
    if not isinstance(node, Tree):
        return False
    return node.data in {"expansions", "maybe"} or (node.data == "expr" and node.children[1] != "+")


def _sum(values: Iterable[float]) -> float:
    return max(1.0, math.fsum(values))


def _sequence(parts: list[_Extent]) -> _Extent:
    """Every alternative of one part with every one of the others."""
    alternatives = 1.0
    each = 1.0
    for part in parts:
        alternatives = min(alternatives * part.alternatives, 1e100)
        each += part.symbols / part.alternatives
    return _Extent(alternatives, min(alternatives * each, 1e200))


def _repetition(item: _Extent, operator: list[str]) -> tuple[_Extent, float]:
    """Extent of what stands in the place of a repetition, and the symbols of the rules made for it."""
    match operator[0]:
        case "?":
            return item.or_empty(), 0.0
        case "+" | "*":
            made = 2 * (item.symbols + item.alternatives)
            return (_Extent() if operator[0] == "+" else _Extent().or_empty()), made
        case _:
            return _counted(item, *(int(count) for count in operator[1:]))


def _counted(item: _Extent, least: int, most: int | None = None) -> tuple[_Extent, float]:
    """Below 50 Lark writes out every count; from there on rules of at most five items each, one below the other."""
    least = max(0, least)
    most = least if most is None else max(0, most)
    if most < 50:
        counts = [_sequence([item] * count) for count in range(least, most + 1)]
        return _Extent(_sum(part.alternatives for part in counts), _sum(part.symbols for part in counts)), 0.0
    rules = 4 * (1 + math.log2(most))
    return _Extent(), rules * 10 * _sequence([item] * 5).symbols


def _instances(rules: Mapping[str, RuleTree]) -> list[str]:
    """The template of each instance that Lark would write. Raises `TooLarge`."""
    found: dict[str, str] = {}
    todo: list[tuple[Tree[Any], dict[str, str]]] = [(rule.tree, {}) for rule in rules.values() if not rule.parameters]
    while todo:
        tree, arguments = todo.pop()
        for template, names in _usages(tree, arguments):
            instance = f"{template}{{{','.join(names)}}}"
            if template not in rules or instance in found:
                continue
            found[instance] = template
            if len(found) > MAX_INSTANCES or len(instance) > MAX_NAME:
                raise TooLarge(f"templates used in more than {MAX_INSTANCES} ways, or within each other for ever")
            todo.append((rules[template].tree, dict(zip(rules[template].parameters, names, strict=False))))
    return list(found.values())


def _usages(tree: Tree[Any], arguments: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """The uses of templates in a rule, those in arguments first, each with the names of its arguments."""
    names: dict[int, str] = {}
    found: list[tuple[str, list[str]]] = []
    for node in tree.iter_subtrees():
        if node.data == "template_usage":
            template, *given = [_name(child, names, arguments) for child in node.children]
            found.append((template, given))
            names[id(node)] = f"{template}{{{','.join(given)}}}"[: MAX_NAME + 1]
        elif node.data == "value":
            names[id(node)] = _name(node.children[0], names, arguments)
        elif node.data in {"literal", "range"}:
            names[id(node)] = "..".join(str(child) for child in node.children)
    return found


def _name(node: Node, names: Mapping[int, str], arguments: Mapping[str, str]) -> str:
    if isinstance(node, Tree):
        return names.get(id(node), "")
    name = str(node.name)
    return arguments.get(name, name)
