"""Terminals between two lexer contexts, and the contexts that nothing tells apart.

A terminal has any ignored text before it. Which watches are on when it begins decides what it may read, and where it
closes decides the context behind. Two contexts are one if whatever is read in the first is read in the other by the
same bytes, up to contexts that are one: behind a number, a watch over digits says nothing where no digit can come.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from grammar_cache.dialects.lexemes.contexts import FREE, Contexts
from grammar_cache.dialects.lexemes.fragments import Fragments
from grammar_cache.dialects.lexemes.lexeme import Lexeme
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Alt, Automaton, Expression, Ref, Seq
from grammar_cache.limits import Limits

MOST_RULES = 20_000
"""Rules for terminals between two contexts: some seconds. Published grammars have 4,500 at most."""


class LabelledLexeme(NamedTuple):
    """A lexeme that closes by the alternative with that label, or by `fragments.ANY`."""

    lexeme: Lexeme
    label: int


@dataclass(frozen=True, slots=True)
class Token:
    """A terminal where a rule takes it: how it is read by each automaton of the lexer, and which is in force behind it
    (None: the same). One that is a `special` token is no text: terminals before it end as at the end of the text.
    """

    name: str
    choices: Mapping[int, LabelledLexeme]
    lexer: int | None
    special: Expression | None = None


Symbol: TypeAlias = str | Token
Bodies: TypeAlias = Mapping[str, Sequence[Sequence[Symbol]]]
"""Alternatives of each rule; a `str` names a rule."""


class Context(NamedTuple):
    """The automaton of the lexer that is in force, and the watches that are on."""

    lexer: int
    watches: int


@dataclass(frozen=True, slots=True)
class LexedGrammar:
    """Rules over terminals. Ignored text may stand before every terminal and at the end: `ignored`, by the automaton of
    the lexer in force. Number `lexer` is so at first.
    """

    bodies: Bodies
    start: str
    ignored: Mapping[int, Sequence[LabelledLexeme]]
    lexer: int


class Read(NamedTuple):
    """A rule for what is read from one context to another, and the automata that it is made of, ascending by `id`."""

    rule: Ref
    parts: tuple[tuple[int, ...], ...]


Reads: TypeAlias = dict[Context, Read]
"""Rules for what is read, by the context behind it."""


class Terminals:
    """Terminals of a grammar in their contexts; `written` are the rules for them."""

    def __init__(self, grammar: LexedGrammar, limits: Limits) -> None:
        self._grammar = grammar
        self._limits = limits
        labelled = [one for listed in grammar.ignored.values() for one in listed]
        tokens = (s for bodies in grammar.bodies.values() for body in bodies for s in body if isinstance(s, Token))
        labelled += [one for token in tokens for one in token.choices.values()]
        self._fragments = Fragments(Contexts(one.lexeme for one in labelled), limits.rule_states)
        self.written: dict[str, Expression] = {}
        self._numbers: dict[Context, int] = {}
        self._ignored: dict[Context, Reads] = {}
        self._alone: dict[tuple[int, int, Context], dict[int, tuple[Ref, Automaton]]] = {}
        self._tokens: dict[tuple[str, int | None, Context], Reads] = {}
        self._same: dict[Context, Context] = {}
        self._states = 0

    def same(self, context: Context) -> Context:
        """The context that stands for one and all that it was merged with."""
        return self._same.get(context, context)

    def reads(self, token: Token, context: Context) -> Reads:
        """A terminal behind any ignored text. Raises LimitExceeded(rule_states, states)."""
        key = (token.name, token.lexer, context)
        if key in self._tokens:
            return self._tokens[key]
        ways: dict[Context, list[tuple[Expression, tuple[int, ...]]]] = {}
        if token.special is not None:
            cut = self.same(Context(context.lexer, FREE))
            for before in self.endings(context):
                way = Seq((before.rule, token.special)), (*before.parts[0], id(token.special))
                ways.setdefault(cut, []).append(way)
        choice = token.choices.get(context.lexer)
        for between, skipped in self.ignored(context).items():
            alone = self._read_alone(token.name, choice, between) if choice else {}
            for behind, (call, automaton) in alone.items():
                after = Context(context.lexer if token.lexer is None else token.lexer, behind)
                way = Seq((skipped.rule, call)), (*skipped.parts[0], id(automaton))
                ways.setdefault(self.same(after), []).append(way)
        found = {}
        for after in sorted(ways):
            # With its lexer: where contexts of two lexers are one, what leads to them by either may differ.
            rule = self.named(f"{token.name} {'' if token.lexer is None else token.lexer}", context, after)
            self._write(rule, Alt(tuple(way for way, _ in ways[after])))
            found[after] = Read(rule, tuple(sorted({parts for _, parts in ways[after]})))
        self._tokens[key] = found
        return found

    def ignored(self, context: Context) -> Reads:
        """Any ignored text."""
        if context not in self._ignored:
            found = {}
            ignored = self._grammar.ignored.get(context.lexer, ())
            for behind, automaton in self._fragments.skipping(ignored, context.watches).items():
                rule = self.named(" ", context, Context(context.lexer, behind))
                found[Context(context.lexer, behind)] = Read(rule, ((id(automaton),),))
                self._write(rule, automaton)
            self._ignored[context] = found
        return self._ignored[context]

    def endings(self, context: Context) -> list[Read]:
        """Ignored text at the end of the whole text."""
        may_end = self._fragments.contexts.may_end
        return [read for after, read in self.ignored(context).items() if may_end(after.watches)]

    def merge(self, tokens: Mapping[Context, Mapping[str, Token]], last: Iterable[Context]) -> bool:
        """Merges contexts that nothing tells apart, by the tokens that are read in each; the whole text ends in the
        `last` ones. Whether there were any.
        """
        ends = set(last)
        kept: list[Context] = []
        merged: dict[Context, Context] = {}
        for context in sorted(tokens.keys() | ends):
            own = tokens.get(context, {})
            for other in kept:
                if self._alike(own.values(), context, other, merged, ends=context in ends):
                    merged[context] = other
                    break
            else:
                kept.append(context)
        self._same = {context: merged.get(same, same) for context, same in self._same.items()} | merged
        self._tokens.clear()
        return bool(merged)

    def _alike(
        self, tokens: Iterable[Token], one: Context, other: Context, merged: Mapping[Context, Context], *, ends: bool
    ) -> bool:
        if ends and {read.parts for read in self.endings(one)} != {read.parts for read in self.endings(other)}:
            return False
        for token in tokens:
            found = []
            for context in (one, other):
                parts: dict[Context, set[tuple[int, ...]]] = {}
                for after, read in self.reads(token, context).items():
                    parts.setdefault(merged.get(after, after), set()).update(read.parts)
                found.append(parts)
            if found[0] != found[1]:
                return False
        return True

    def _read_alone(self, name: str, choice: LabelledLexeme, context: Context) -> dict[int, tuple[Ref, Automaton]]:
        """A lexeme by itself, by the watches that are on behind it."""
        key = (id(choice.lexeme), choice.label, context)
        if key not in self._alone:
            found = self._alone[key] = {}
            for behind in self._fragments.behind(*choice, context.watches):
                rule = self.named(f"{name}  ", context, Context(context.lexer, behind))
                found[behind] = rule, self._fragments.automaton(*choice, context.watches, behind)
                self._write(*found[behind])
        return self._alone[key]

    def named(self, name: str, before: Context, behind: Context) -> Ref:
        """The rule of that name between two contexts."""
        numbers = [self._numbers.setdefault(context, len(self._numbers)) for context in (before, behind)]
        return Ref(f"{name} {numbers[0]}>{numbers[1]}")

    def _write(self, rule: Ref, body: Expression) -> None:
        self.written[rule.name] = body
        self._states += body.states if isinstance(body, Automaton) else 0
        if self._states > self._limits.states:
            raise LimitExceeded(f"terminals of more than {self._limits.states} states", limit="states")
        if len(self.written) > MOST_RULES:
            message = f"terminals that others could still change make more than {MOST_RULES} rules"
            raise LimitExceeded(message, limit="rules")
