"""Outline of a Lark grammar text, before Lark reads it: its statements, found by their tokens.

The outline gives refusals their place in the text, and bounds what Lark is going to do with terminals: it writes each
terminal out as one regular expression, so that ten definitions of the form `B: A A` make it a thousand times as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from grammar_cache.dialects.lark.tokens import LarkToken, Source
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.limits import Limits

BUNDLED = frozenset({"common", "lark", "python", "unicode"})
"""The grammars that come with Lark. Nothing else can be imported: no file, no package."""
MAX_PATTERN = 1 << 20
"""Characters of all terminals together, written out."""
MAX_PATTERN_DEPTH = 120
"""Parentheses inside each other in one terminal, written out. Python's own reader of patterns is recursive."""
MAX_COUNT = 10**9
"""Counts beyond this are taken for an attack."""
MAX_FOLDED_SETS = 100
"""Sets in patterns that ignore case and reach beyond U+FFFF. Each is compared with every code point: 10 ms."""

_BEYOND = re.compile("\\\\U|[\U00010000-\U0010ffff]")
_NO_GROUP = re.compile(r"\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Definition:
    """The name of a rule or a terminal with what follows its colon."""

    name: LarkToken
    body: tuple[LarkToken, ...]


@dataclass(slots=True)
class Outline:
    """The statements of a grammar by kind.

    `places`: where each name is defined (the last time), `uses`: the first place where it occurs in a body.
    """

    definitions: list[Definition] = field(default_factory=list)
    ignores: list[tuple[LarkToken, ...]] = field(default_factory=list)
    declared: dict[str, int] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    uses: dict[str, int] = field(default_factory=dict)

    def place(self, name: str) -> int | None:
        """Offset at which a name is defined, or else declared or used."""
        return self.places.get(name, self.declared.get(name, self.uses.get(name)))


def outline(source: Source, limits: Limits) -> Outline:
    """Raises a `GrammarError` for imports from elsewhere, declared rules, and terminals that grow too long."""
    found = Outline()
    for statement in _statements(source.tokens):
        first, rest = statement[0], statement[1:]
        match first.text:
            case "%import":
                _check_import(source, first, rest)
            case "%ignore":
                found.ignores.append(rest)
                _note_uses(found, rest)
            case "%declare":
                _declare(source, found, rest)
            case _:
                _define(found, statement)
    if len(found.definitions) > limits.rules:
        place = found.definitions[limits.rules].name.offset
        raise source.error(LimitExceeded, f"more than {limits.rules} rules", place, limit="rules")
    _check_counts(source)
    for definition in found.definitions:
        for token in definition.body:
            if definition.name.kind == "terminal" and token.text == "->":
                raise source.error(GrammarSyntaxError, "a terminal has no aliases", token.offset)
            if definition.name.kind == "terminal" and token.kind == "special":
                raise source.error(
                    UnsupportedFeature, "a special token inside a terminal: it stands in rules", token.offset
                )
    for token in (token for ignored in found.ignores for token in ignored if token.kind == "special"):
        raise source.error(UnsupportedFeature, "a special token that is ignored", token.offset)
    _check_folded_sets(source)
    _check_terminals(source, found, limits)
    return found


def _statements(tokens: tuple[LarkToken, ...]) -> Iterator[tuple[LarkToken, ...]]:
    begin = 0
    for index, token in enumerate(tokens):
        if token.kind == "newline":
            if index > begin:
                yield tokens[begin:index]
            begin = index + 1
    if begin < len(tokens):
        yield tokens[begin:]


def _define(found: Outline, statement: tuple[LarkToken, ...]) -> None:
    """A definition; a statement without a colon is left to Lark to refuse."""
    named = [token for token in statement[:3] if token.kind in {"rule", "terminal"}]
    colon = next((index for index, token in enumerate(statement) if token.text == ":"), None)
    if named and colon is not None:
        body = statement[colon + 1 :]
        found.definitions.append(Definition(named[0], body))
        found.places[named[0].text] = named[0].offset
        _note_uses(found, body)


def _note_uses(found: Outline, body: tuple[LarkToken, ...]) -> None:
    for token in body:
        if token.kind in {"rule", "terminal"}:
            found.uses.setdefault(token.text, token.offset)


def _declare(source: Source, found: Outline, names: tuple[LarkToken, ...]) -> None:
    for token in names:
        if token.kind == "rule":
            raise source.error(UnsupportedFeature, f"the rule {token.text} has no definition", token.offset)
        found.declared[token.text] = token.offset


def _check_import(source: Source, directive: LarkToken, path: tuple[LarkToken, ...]) -> None:
    """`%import common.NAME`, with `-> OTHER` or with a list of names in parentheses: one file of Lark's own."""
    where = path[0].offset if path else directive.offset
    if not path or path[0].text not in BUNDLED or (len(path) > 3 and path[3].text == "."):
        known = ", ".join(sorted(BUNDLED))
        raise source.error(UnsupportedFeature, f"an import from elsewhere than Lark's own grammars: {known}", where)
    if len(path) == 1:
        raise source.error(GrammarSyntaxError, f"nothing is imported from {path[0].text}", where)


def _check_counts(source: Source) -> None:
    for token in source.tokens:
        if token.kind == "number" and len(token.text.lstrip("+-0")) > len(str(MAX_COUNT)) - 1:
            raise source.error(LimitExceeded, f"a count of {MAX_COUNT} or more", token.offset, limit="expression_size")


def _check_folded_sets(source: Source) -> None:
    count = 0
    for token in source.tokens:
        if token.kind == "regexp" and ("(?" in token.text or "i" in token.text.rpartition("/")[2]):
            count += token.text.count("[") if _BEYOND.search(token.text) else 0
            if count > MAX_FOLDED_SETS:
                message = f"more than {MAX_FOLDED_SETS} sets beyond U+FFFF that ignore case"
                raise source.error(LimitExceeded, message, token.offset, limit="expression_size")


@dataclass(frozen=True, slots=True)
class _Extent:
    """Extent of a terminal written out: its characters, and the levels of parentheses in it."""

    size: int
    depth: int


def _check_terminals(source: Source, found: Outline, limits: Limits) -> None:
    """No terminal leads back to itself, and all together they stay within bounds."""
    bodies: dict[str, list[Definition]] = {}
    for definition in found.definitions:
        if definition.name.kind == "terminal":
            bodies.setdefault(definition.name.text, []).append(definition)
    extents: dict[str, _Extent] = {}
    total = 0
    for name, definitions in bodies.items():
        total += _extent_of(source, name, bodies, extents).size
        _check_extent(source, definitions[0].name, total, extents[name].depth, limits)
    # An ignored item is a terminal by itself; a rule holds references, and regular expressions as they stand there.
    rules = (definition.body for definition in found.definitions if definition.name.kind == "rule")
    parts = [(token,) for body in rules for token in body if token.kind == "regexp"]
    for part in [*found.ignores, *parts]:
        if part:
            extent = _extent(part, extents)
            total += extent.size
            _check_extent(source, part[0], total, extent.depth, limits)


def _check_extent(source: Source, place: LarkToken, total: int, depth: int, limits: Limits) -> None:
    if total > MAX_PATTERN:
        message = f"terminals of more than {MAX_PATTERN} characters, written out"
        raise source.error(LimitExceeded, message, place.offset, limit="expression_size")
    deepest = min(limits.nesting, MAX_PATTERN_DEPTH)
    if depth > deepest:
        message = f"a terminal with more than {deepest} levels of nesting, written out"
        raise source.error(LimitExceeded, message, place.offset, limit="nesting")


def _extent_of(source: Source, name: str, bodies: dict[str, list[Definition]], extents: dict[str, _Extent]) -> _Extent:
    """Depth first with an explicit stack; a terminal met again on the way down is recursive."""
    path: dict[str, Iterator[LarkToken]] = {name: _references(bodies[name], bodies)}
    while path:
        current, waiting = next(reversed(path.items()))
        following = next((token for token in waiting if token.text not in extents), None)
        if following is None:
            body = [token for definition in bodies[current] for token in definition.body]
            extents[current] = _extent(body, extents)
            del path[current]
        elif following.text in path:
            message = f"the terminal {following.text} contains itself: only rules can be recursive"
            raise source.error(GrammarSyntaxError, message, following.offset)
        else:
            path[following.text] = _references(bodies[following.text], bodies)
    return extents[name]


def _references(definitions: list[Definition], bodies: dict[str, list[Definition]]) -> Iterator[LarkToken]:
    return (token for item in definitions for token in item.body if token.text in bodies)


def _extent(body: list[LarkToken] | tuple[LarkToken, ...], extents: dict[str, _Extent]) -> _Extent:
    """A group, an operator or a flag puts parentheses around what it applies to."""
    size = depth = deepest = 0
    for token in body:
        size += len(token.text) + 8
        if token.text in {"(", "["}:
            depth += 1
        elif token.text in {")", "]"}:
            depth -= 1
        inner = 0
        if token.kind == "regexp":
            inner = _pattern_depth(token.text)
        elif token.text in extents:
            size += extents[token.text].size
            inner = extents[token.text].depth
        deepest = max(deepest, 2 * depth + inner + 2)
    # Capped, so that the numbers themselves stay short.
    return _Extent(min(size, MAX_PATTERN + 1), min(deepest, MAX_PATTERN_DEPTH + 1))


def _pattern_depth(pattern: str) -> int:
    """Groups open at once; what is escaped or in a class opens none."""
    depth = deepest = 0
    for char in _NO_GROUP.sub("", pattern):
        if char == "(":
            depth += 1
            deepest = max(deepest, depth)
        elif char == ")":
            depth = max(0, depth - 1)
    return deepest
