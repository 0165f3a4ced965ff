"""Lark's contextual mode: the language of `Lark(grammar, parser="lalr")`, lexed as its parser lexes.

There the state of the parser decides which terminals the lexer looks for, and of those one regular expression is made,
in Lark's order of preference. Each rule is written once for every state of the parser in which it may begin, so that
every terminal is known together with the state that takes it, and with it the lexer that is in force behind. A grammar
whose table has conflicts is refused: Lark settles them silently, and its language is then no longer that of the
grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from lark.common import LexerConf
from lark.exceptions import LexError
from lark.grammar import Rule
from lark.lexer import BasicLexer, ContextualLexer, TerminalDef

from grammar_cache.dialects.lark.parse_table import ParseTable, parse_table
from grammar_cache.dialects.lark.terminals import LabelledLexeme, LexedGrammar, Symbol, Token
from grammar_cache.dialects.lexemes.lexeme import DEAD, OPEN, Lexeme
from grammar_cache.dialects.lexemes.python_regex import lexeme
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded
from grammar_cache.limits import Limits

MOST_TERMINALS = 20_000
"""Terminals of all lexers together, each of which makes an automaton of its own: some seconds."""
IGNORED = 0
"""The label of text that is skipped; terminals that reach the parser count from 1."""


def contextual(
    terminals: Sequence[TerminalDef], rules: Sequence[Rule], ignored: Sequence[str], start: str, limits: Limits
) -> LexedGrammar:
    """Grammar over terminals, made of Lark's compiled grammar.

    Raises UnsupportedFeature for conflicts, GrammarSyntaxError, LimitExceeded.
    """
    table = parse_table(rules, start)
    lexers = _Lexers(terminals, ignored, table, limits)
    translation = _Translation(rules, table, lexers, limits)
    return translation.translate(start)


class _Lexers:
    """One automaton for each set of terminals that a parser state asks for."""

    def __init__(
        self,
        terminals: Sequence[TerminalDef],
        ignored: Sequence[str],
        table: ParseTable,
        limits: Limits,
    ) -> None:
        self._limits = limits
        self._ignored = frozenset(ignored)
        self._labels = {t.name: i + 1 for i, t in enumerate(terminals)}
        self._retyped: set[str] = set()
        self._keywords: dict[str, Lexeme] = {}
        wanted = sum(len(accepted) + len(ignored) for accepted in table.sets)
        if wanted > MOST_TERMINALS:
            raise LimitExceeded(f"the lexers look for more than {MOST_TERMINALS} terminals in all", limit="states")
        configuration = LexerConf(list(terminals), re, list(ignored))
        self._automata: list[Lexeme] = []
        states = 0
        try:
            made = ContextualLexer(configuration, dict(enumerate(table.sets))).lexers
            numbers = {lexer: number for number, lexer in enumerate(dict.fromkeys(made.values()))}  # Lark shares them
            for lexer in numbers:
                self._automata.append(self._automaton(lexer))
                states += len(self._automata[-1].moves)
                if states > limits.states:
                    raise LimitExceeded(f"the lexers need more than {limits.states} states", limit="states")
        except LexError as error:
            raise GrammarSyntaxError(str(error)) from error
        except re.error as error:  # each terminal is one alternative of it, and a group of its name
            raise GrammarSyntaxError(f"the terminals make no regular expression together: {error}") from error
        self._of_state = [numbers[made[number]] for number in table.accepted]

    def label(self, terminal: str) -> int:
        return self._labels[terminal]

    def taken(self, terminal: str) -> bool:
        """Whether the parser may be given it. Lark skips an ignored terminal where its own pattern is what matches; a
        word that another terminal matches is retyped and passed on, though the name it gets is that of an ignored one.
        """
        return terminal not in self._ignored or terminal in self._retyped

    def of_state(self, state: int) -> int:
        """Number of the automaton in force in a state of the parser."""
        return self._of_state[state]

    def choices(self, label: int) -> dict[int, LabelledLexeme]:
        """Automata that close with a label, by number."""
        return {i: LabelledLexeme(made, label) for i, made in enumerate(self._automata) if (made.label == label).any()}

    def _automaton(self, lexer: BasicLexer) -> Lexeme:
        scanner = lexer.scanner
        names = [t.name for t in scanner.terminals]
        found = lexeme([(t.pattern.to_regexp(), 0) for t in scanner.terminals], self._limits)
        labels = [IGNORED if name in self._ignored else self._labels[name] for name in names]
        label = np.array([*labels, -1], np.int32)  # the last one: where none has closed
        keywords: dict[int, list[tuple[int, Lexeme]]] = {}
        for name, callback in lexer.callback.items():
            if name not in self._ignored:
                words = callback.scanner.terminals
                keywords[self._labels[name]] = [(self._labels[word.name], self._keyword(word)) for word in words]
                self._retyped.update(word.name for word in words)
        named = Lexeme(found.moves, found.closes, label[found.label], found.watches, found.ends)
        return _with_keywords(named, keywords) if keywords else named

    def _keyword(self, terminal: TerminalDef) -> Lexeme:
        if terminal.name not in self._keywords:
            self._keywords[terminal.name] = lexeme([(terminal.pattern.to_regexp(), 0)], self._limits)
        return self._keywords[terminal.name]


def _with_keywords(lexeme: Lexeme, keywords: Mapping[int, Sequence[tuple[int, Lexeme]]]) -> Lexeme:
    """A lexeme with one of those labels that is, as a whole, a keyword takes the keyword's label instead.

    States are pairs of a state and the keywords read so far; where none is left, the lexeme's own state.
    """
    words = [(label, number, word) for label, listed in keywords.items() for number, word in listed]
    own = len(lexeme.moves)
    begin = (0, frozenset((i, 0) for i in range(len(words))))
    numbers = {begin: own}
    order = [begin]
    rows, labels = [], []
    for state, reading in order:  # grows while it is read
        row = lexeme.moves[state].copy()
        after: dict[int, set[tuple[int, int]]] = {}
        for i, at in reading:
            moves = words[i][2].moves[at]
            for byte in np.flatnonzero(moves != DEAD).tolist():
                after.setdefault(byte, set()).add((i, int(moves[byte])))
        for byte, reached in sorted(after.items()):
            if row[byte] != DEAD:
                pair = (int(row[byte]), frozenset(reached))
                if pair not in numbers:
                    numbers[pair] = own + len(order)
                    order.append(pair)
                row[byte] = numbers[pair]
        rows.append(row)
        label = int(lexeme.label[state])
        whole = [i for i, at in sorted(reading) if words[i][0] == label and words[i][2].closes[at] != OPEN]
        labels.append(words[whole[0]][1] if whole else label)
    states = [state for state, _ in order]
    moves = np.concatenate([lexeme.moves, np.stack(rows)])
    moves = np.where(moves >= own, moves - own, np.where(moves >= 0, moves + len(order), DEAD)).astype(np.int32)
    turned = [*range(own, len(moves)), *range(own)]  # the start comes first
    return Lexeme(
        np.ascontiguousarray(moves[turned]),
        np.concatenate([lexeme.closes[states], lexeme.closes]),
        np.concatenate([np.array(labels, np.int32), lexeme.label]),
        lexeme.watches,
        lexeme.ends,
    )


class _Translation:
    """Rules by the parser state in which they begin."""

    def __init__(self, rules: Sequence[Rule], table: ParseTable, lexers: _Lexers, limits: Limits) -> None:
        self._productions: dict[str, list[Rule]] = {}
        for rule in rules:
            self._productions.setdefault(rule.origin.name, []).append(rule)
        self._table = table
        self._lexers = lexers
        self._limits = limits
        self._begun: dict[str, tuple[int, str]] = {}
        self._todo: list[str] = []
        self._tokens: dict[tuple[str, int], Token] = {}

    def translate(self, start: str) -> LexedGrammar:
        bodies: dict[str, list[list[Symbol]]] = {}
        first = self._begin(0, start)
        for name in self._todo:  # grows while it is read
            state, origin = self._begun[name]
            made = (self._body(rule, state) for rule in self._productions[origin])
            bodies[name] = [body for body in made if body is not None]
            if len(bodies) > self._limits.rules:
                raise LimitExceeded(f"the parse table makes more than {self._limits.rules} rules", limit="rules")
        ignored = {lexer: [choice] for lexer, choice in self._lexers.choices(IGNORED).items()}
        return LexedGrammar(bodies, first, ignored, self._lexers.of_state(0))

    def _body(self, rule: Rule, state: int) -> list[Symbol] | None:
        """The symbols of a rule that begins in a state; None if one of them is never given to the parser."""
        found: list[Symbol] = []
        for symbol in rule.expansion:
            after = self._table.after[state][symbol.name]
            if not symbol.is_term:
                found.append(self._begin(state, symbol.name))
            elif self._lexers.taken(symbol.name):
                found.append(self._token(symbol.name, self._lexers.of_state(after)))
            else:
                return None
            state = after
        return found

    def _token(self, name: str, lexer: int) -> Token:
        if (name, lexer) not in self._tokens:
            self._tokens[name, lexer] = Token(name, self._lexers.choices(self._lexers.label(name)), lexer)
        return self._tokens[name, lexer]

    def _begin(self, state: int, origin: str) -> str:
        name = f"{origin}@{state}"
        if name not in self._begun:
            self._begun[name] = (state, origin)
            self._todo.append(name)
        return name
