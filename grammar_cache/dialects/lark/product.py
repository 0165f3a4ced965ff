"""Grammars over lexemes as grammars over bytes: every rule once for each pair of lexer contexts before and behind it.

What may follow a lexeme depends on the watches that are on, and these outlast the rule that they were set in. So rules
are multiplied with contexts, as a context-free grammar is with a finite transducer (Bar-Hillel, Perles and Shamir,
1961): `rule 2>5` derives the texts that the rule can read from context 2 on and that leave context 5. Only what a text
can lead to is written. The product knows nothing of a lexer any more: a whole text ends in a context that lets it end,
and may stand in a larger grammar.

With a contextual lexer, which of its automata is in force is part of the context too. The product is made anew until
no two contexts are alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from grammar_cache.dialects.lark.terminals import Context, LexedGrammar, Symbol, Terminals, Token
from grammar_cache.dialects.lexemes.contexts import FREE
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import EMPTY, NOTHING, Alt, Expression, Seq
from grammar_cache.limits import Limits

START = "whole text"
"""The made-up rule for whole texts; names of Lark's have no spaces."""

Instance: TypeAlias = tuple[str, Context]
"""A rule, and the context in which it begins."""
Place: TypeAlias = tuple[str, Context, int, int, Context]
"""An instance, which of its alternatives, how many symbols of it are read, and the context there."""


def product(grammar: LexedGrammar, limits: Limits) -> dict[str, Expression]:
    """Rules over bytes, those for whole texts under START. Raises LimitExceeded(rules, rule_states, states)."""
    return _Product(grammar, limits).rules()


class _Product:
    def __init__(self, grammar: LexedGrammar, limits: Limits) -> None:
        self._grammar = grammar
        self._limits = limits
        self._terminals = Terminals(grammar, limits)
        self._written = self._terminals.written

    def rules(self) -> dict[str, Expression]:
        """The product: contexts are followed from the start, then rules are written for those that were met."""
        first: Instance = (self._grammar.start, Context(self._grammar.lexer, FREE))
        met = self._met(first)
        while self._terminals.merge(met.tokens, met.behind[first]):
            first = first[0], self._terminals.same(first[1])
            met = self._met(first)
        ways = [
            Seq((self._terminals.named(*first, context), read.rule))
            for context in sorted(met.behind[first])
            for read in self._terminals.endings(context)
        ]
        self._written[START] = Alt(tuple(ways))
        for (name, context), found in met.behind.items():
            self._write(name, context, sorted(found), met)
        return self._written

    def _met(self, first: Instance) -> _Met:
        """All places that a text can lead to, and the contexts in which instances end."""
        met = _Met({first: set()}, {}, {}, set())
        waiting: dict[Instance, list[Place]] = {}
        todo: list[Place] = []

        def meet(place: Place) -> None:
            if place not in met.places:
                met.places.add(place)
                met.at.setdefault(place[:4], []).append(place[4])
                todo.append(place)
                if len(met.places) > self._limits.states:
                    raise self._too_many(self._limits.states, "states")

        def begin(instance: Instance) -> None:
            for alternative in range(len(self._grammar.bodies[instance[0]])):
                meet((*instance, alternative, 0, instance[1]))

        begin(first)
        while todo:
            name, before, alternative, read, context = todo.pop()
            body = self._grammar.bodies[name][alternative]
            if read == len(body):
                if context not in met.behind[name, before]:
                    met.behind[name, before].add(context)
                    for caller, entered, way, at, _ in waiting.get((name, before), ()):
                        meet((caller, entered, way, at + 1, context))
                continue
            symbol = body[read]
            if isinstance(symbol, Token):
                met.tokens.setdefault(context, {})[f"{symbol.name} {symbol.lexer}"] = symbol
                for after in self._terminals.reads(symbol, context):
                    meet((name, before, alternative, read + 1, after))
                continue
            instance = (symbol, context)
            waiting.setdefault(instance, []).append((name, before, alternative, read, context))
            if instance not in met.behind:
                met.behind[instance] = set()
                begin(instance)
            for after in list(met.behind[instance]):
                meet((name, before, alternative, read + 1, after))
        return met

    def _write(self, name: str, before: Context, behind: Sequence[Context], met: _Met) -> None:
        """Writes the rules of an instance, one for each context behind it."""
        for after in behind:
            ways = []
            for alternative, body in enumerate(self._grammar.bodies[name]):
                rest: dict[Context, Expression] = {after: EMPTY}
                for read in range(len(body) - 1, -1, -1):
                    contexts = met.at.get((name, before, alternative, read), ())
                    tails = {context: self._ways(body[read], context, rest, met) for context in contexts}
                    rest = {context: tail for context, tail in tails.items() if tail is not NOTHING}
                if before in rest and (body or after == before):
                    ways.append(rest[before])
            self._written[self._terminals.named(name, before, after).name] = (
                ways[0] if len(ways) == 1 else Alt(tuple(ways))
            )
            if len(self._written) > self._limits.rules:
                raise self._too_many(self._limits.rules, "rules")

    def _ways(self, symbol: Symbol, context: Context, rest: Mapping[Context, Expression], met: _Met) -> Expression:
        """A symbol and the rest of its alternative, through each context between them."""
        found: list[Expression] = []
        if isinstance(symbol, Token):
            read = {after: one.rule for after, one in self._terminals.reads(symbol, context).items()}
        else:
            read = {
                after: self._terminals.named(symbol, context, after) for after in met.behind.get((symbol, context), ())
            }
        for after in sorted(read):
            if after in rest:
                tail = rest[after]
                found.append(read[after] if tail is EMPTY else Seq((read[after], tail)))
        return NOTHING if not found else found[0] if len(found) == 1 else Alt(tuple(found))

    def _too_many(self, most: int, limit: str) -> LimitExceeded:
        return LimitExceeded(f"terminals whose ends depend on what follows make more than {most} {limit}", limit=limit)


@dataclass(frozen=True, slots=True)
class _Met:
    """`behind` each instance: the contexts in which it ends. `tokens`: those that are read in each context.

    `at` each place of an instance: its contexts.
    """

    behind: dict[Instance, set[Context]]
    tokens: dict[Context, dict[str, Token]]
    at: dict[tuple[str, Context, int, int], list[Context]]
    places: set[Place]
