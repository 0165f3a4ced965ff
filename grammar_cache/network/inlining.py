"""Choice of the rules that are called and those that are inlined, and the spelling of large repetitions.

A rule is inlined if it is small and not recursive, or one of the words of a lexicon. A large repetition becomes calls
of made-up rules, by doubling: `x{0,1000}` costs a dozen small rules instead of a thousand states, and a configuration
inside it a dozen items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from grammar_cache.algorithms.strong_components import components
from grammar_cache.automata.automaton_cache import AutomatonCache
from grammar_cache.automata.flat_expression import Code, encoded, too_many_parts
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.expression import (
    Alt,
    And,
    Automaton,
    Bytes,
    CharClass,
    Expression,
    Grammar,
    Not,
    Ref,
    Repeat,
    Seq,
    parts_of,
)
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import Limits
from grammar_cache.network.equal_rules import merged
from grammar_cache.network.expression_size import size
from grammar_cache.network.lexicon import words_of_lexicons

INLINE_SIZE = 24
"""Rules at most this large (in transitions) are inlined: a call costs a stack node at every byte it spans."""

UNROLL_SIZE = 128
"""Repetitions at most this large are unrolled; above it they are doubled."""


class Inlining:
    """The grammar's rules, repetitions spelled out. Names of made-up rules hold a mark that the grammar's own don't."""

    def __init__(self, grammar: Grammar, limits: Limits, interrupt: Interrupt, automata: AutomatonCache) -> None:
        """`automata` keeps the codes of expressions that other grammars share."""
        self._automata = automata
        self._rules: dict[str, Expression] = {}
        self._limits = limits
        self._interrupt = interrupt
        self._sizes: dict[str, int] = {}
        self._repeats: dict[Expression | int, Ref] = {}
        self._start = grammar.start
        self._stands_for: Mapping[str, str] = {}
        self._beside = {name: unique.beside for name, unique in grammar.unique.items()}
        self._kinds: dict[str, tuple[str, int | None, int]] = {}
        for name, unique in grammar.unique.items():
            least = 0 if unique.required is None else unique.required.least
            self._kinds |= {name: ("first", unique.most, least), unique.further: ("further", unique.most, least)}
            self._kinds |= dict.fromkeys(unique.beside[1:], ("beside", None, 0))
        if grammar.start not in grammar.rules:
            raise GrammarSyntaxError(f"there is no rule named {grammar.start!r} to start from")
        self._codes = self._reachable(grammar)
        _refuse_recursion_under_boolean(self._codes)
        self._mark = "~"
        while any(self._mark in name for name in self._codes):
            self._mark += "~"
        counted: list[str] = []
        for name in self._codes:
            body = grammar.rules[name]
            if self._codes[name].counts:
                body = self._spelled(body, name)
                counted.append(name)
            self._rules[name] = body
        for name in (*counted, *(name for name in self._rules if name not in self._codes)):
            self._codes[name] = encoded(self._rules[name], limits.expression_size, interrupt)  # none of them shared
        self._codes, self._stands_for = merged(self._codes, self._start, self._kinds, self._beside)
        self._calls = {name: code.called for name, code in self._codes.items()}
        self._recursive = _recursive(self._calls)
        self._words = words_of_lexicons(self._calls, self._recursive, self.body)

    @property
    def codes(self) -> Mapping[str, Code]:
        """Codes of all rules, as they stand outside of And and Not, of equal rules one."""
        return self._codes

    def stands_for(self, name: str) -> str:
        """The one of several equal rules that stands for one of them."""
        return self._stands_for.get(name, name)

    def body(self, name: str) -> Expression:
        """Body of a rule, which may name any of several equal rules."""
        return self._rules[name]

    def order(self) -> list[str]:
        """The rules to be called, start first, the others by name.

        So rules that several grammars share stand in the same order in each, and their automata come out the same.
        """
        seen, todo = {self._start}, [self._start]
        while todo:
            name = todo.pop()
            for called in (*self._called_by(name), *self._needed_by(name)):
                if called not in seen:
                    seen.add(called)
                    todo.append(called)
        return [self._start, *sorted(seen - {self._start})]

    def _reachable(self, grammar: Grammar) -> dict[str, Code]:
        """The rules that the start needs, in the order of their first mention."""
        found: dict[str, Code] = {}
        left = self._limits.expression_size
        todo, seen = [grammar.start], {grammar.start}
        for name in todo:
            self._interrupt.check()
            try:
                found[name] = self._encoded(grammar.rules[name], left)
            except LimitExceeded as error:
                raise too_many_parts(self._limits.expression_size).of_rule(name) from error
            left -= found[name].parts
            for called in (*found[name].names, *self._needed_by(name)):
                if called in seen:
                    continue
                if called not in grammar.rules:
                    raise GrammarSyntaxError(f"rule {called!r} is used and not defined")
                seen.add(called)
                todo.append(called)
        return found

    def _needed_by(self, name: str) -> tuple[str, ...]:
        """Rules that stand beside one without being called."""
        return tuple(map(self.stands_for, self._beside.get(name, ())))

    def _encoded(self, body: Expression, limit: int) -> Code:
        known = self._automata.code(body)
        if known is None:
            known = encoded(body, limit, self._interrupt, large=_large)
            if not known.names:
                known = replace(known, size=size(body, self._call_size, INLINE_SIZE))
            self._automata.keep_code(body, known)
        if known.parts > limit:
            raise too_many_parts(limit)
        return known

    def _called_by(self, name: str) -> list[str]:
        found: list[str] = []
        todo = [name]
        while todo:
            for called in self._calls[todo.pop()]:
                (todo if self._inlined(called) else found).append(called)
        return found

    def _inlined(self, name: str) -> bool:
        if name in self._kinds:
            return False
        return name in self._words or (name not in self._recursive and self._size_of(name) <= INLINE_SIZE)

    def _size_of(self, name: str) -> int:
        """Transitions of a rule's automaton when what is small is inlined. A call to a larger rule counts as one."""
        todo = [name]
        while todo:
            at = todo[-1]
            if at in self._sizes:
                todo.pop()
                continue
            missing = [c for c in self._calls[at] if c not in self._recursive and c not in self._sizes]
            if missing and at not in self._recursive:
                todo += missing
                continue
            todo.pop()
            known = self._codes[at].size
            self._sizes[at] = size(self._rules[at], self._call_size, INLINE_SIZE) if known is None else known
        return self._sizes[name]

    def _call_size(self, name: str) -> int:
        known = self._sizes.get(self._stands_for[name], INLINE_SIZE + 1)
        return known + 1 if known <= INLINE_SIZE else 1  # one more: else chains of rules are inlined at any length

    def _spelled(self, expression: Expression, base: str) -> Expression:
        """The expression with large repetitions replaced by calls of made-up rules. Post-order, explicit stack."""
        done: dict[int, Expression] = {}
        todo: list[tuple[Expression, bool]] = [(expression, False)]
        while todo:
            node, ready = todo.pop()
            if id(node) in done:
                continue
            if isinstance(node, (Bytes, CharClass, Ref, And, Not)):
                done[id(node)] = node
                continue
            parts = parts_of(node)
            if not ready:
                todo.append((node, True))
                todo += [(part, False) for part in parts]
                continue
            self._interrupt.check()
            made = tuple(done[id(part)] for part in parts)
            if isinstance(node, Seq):
                done[id(node)] = Seq(made)
            elif isinstance(node, Alt):
                done[id(node)] = Alt(made)
            elif isinstance(node, Automaton):
                done[id(node)] = replace(node, items=made)
            else:
                done[id(node)] = self._repeated(Repeat(made[0], node.least, node.most), base)
        return done[id(expression)]

    def _repeated(self, repeat: Repeat, base: str) -> Expression:
        if not _large(repeat):
            return repeat
        item = repeat.item
        if not isinstance(item, Ref):
            item = self._named(item, base)
        head = self._exactly(item, repeat.least)
        if repeat.most is None:
            return Seq((head, Repeat(item, 0, None)))
        return Seq((head, self._up_to(item, repeat.most - repeat.least)))

    def _named(self, item: Expression, base: str) -> Ref:
        """A rule for what is repeated: one for all repetitions of a class or a literal, and of what is the same object,
        which `_rules` keeps. Else each had rules of its own for its counts.
        """
        key = item if isinstance(item, (Bytes, CharClass)) else id(item)
        if key not in self._repeats:
            self._repeats[key] = self._define(f"{base}{self._mark}{len(self._rules)}", item)
        return self._repeats[key]

    def _define(self, name: str, body: Expression) -> Ref:
        if name not in self._rules:
            self._rules[name] = body
            if len(self._rules) > self._limits.rules:
                raise LimitExceeded(f"the grammar has more than {self._limits.rules} rules", limit="rules")
        return Ref(name)

    def _exactly(self, item: Ref, count: int) -> Expression:
        """`count` times, by halves: E(2j) = E(j) E(j). Iterative over the binary digits of the count."""
        if count <= 4:
            return Repeat(item, count, count)
        made: Expression = Repeat(item, 0, 0)
        at = 0
        for digit in bin(count)[2:]:
            doubled = Seq((made, made)) if at else made
            at = 2 * at + (digit == "1")
            body = Seq((doubled, item)) if digit == "1" else doubled
            made = body if at <= 4 else self._define(f"{item.name}{self._mark}={at}", body)
        return made

    def _up_to(self, item: Ref, count: int) -> Expression:
        """Expression for at most `count` times, unambiguously: fewer than j, or exactly j and then at most the rest."""
        if count <= 4:
            return Repeat(item, 0, count)
        half = (count + 1) // 2
        name = f"{item.name}{self._mark}<={count}"
        if name in self._rules:
            return Ref(name)
        few = self._up_to(item, half - 1)  # as deep as count has binary digits
        rest = self._up_to(item, count - half)
        return self._define(name, Alt((few, Seq((self._exactly(item, half), rest)))))


def _large(repeat: Repeat) -> bool:
    """Whether it is too large to be unrolled."""
    count = max(repeat.least, repeat.most or 0)
    if count <= 2 or (repeat.most is not None and repeat.most < repeat.least):
        return False
    return size(repeat.item, lambda _: 1, UNROLL_SIZE // count) > UNROLL_SIZE // count


def _refuse_recursion_under_boolean(codes: Mapping[str, Code]) -> None:
    """Rules that an And or a Not needs as regular expressions, those they call included, must not be recursive."""
    found = {name for code in codes.values() for name in code.inlined}
    if not found:
        return
    todo = list(found)
    while todo:
        for name in codes[todo.pop()].names:
            if name not in found:
                found.add(name)
                todo.append(name)
    recursive = _recursive({name: code.names for name, code in codes.items()})
    for name in sorted(found & recursive):
        raise UnsupportedFeature(f"rule {name!r} is recursive, and stands in an intersection or a complement")


def _recursive(calls: Mapping[str, Sequence[str]]) -> set[str]:
    """Rules that can lead back to themselves."""
    names = list(calls)
    number = {n: i for i, n in enumerate(names)}
    component, cyclic = components([[number[c] for c in calls[n] if c in number] for n in names])
    return {n for n in names if cyclic[component[number[n]]]}
