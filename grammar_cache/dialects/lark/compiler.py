"""Lark grammars: the language of `Lark(grammar, start=...)`, that is Earley's algorithm with the dynamic lexer.

The contextual lexer is in `contextual`.

There is no tokenizer beforehand. Wherever the grammar can go on with a terminal, Lark matches its regular expression
there, and where it ends is decided by the expression alone: greedy, the first alternative that fits. Ignored terminals
may stand before any terminal and at the end of the text, in any number, and nowhere split a terminal. So a rule is a
rule here, a terminal a `Lexeme`, and what is ignored is written out before each terminal. This module knows no
automaton.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from grammar_cache.dialects.lark.contextual import contextual
from grammar_cache.dialects.lark.loading import Loaded, Terminal, load
from grammar_cache.dialects.lark.outline import outline
from grammar_cache.dialects.lark.tokens import Source, tokenize
from grammar_cache.dialects.lexemes.python_regex import lexeme
from grammar_cache.dialects.lexemes.reader import parse as parse_pattern
from grammar_cache.dialects.lexemes.reader import unwarned
from grammar_cache.errors import GrammarError, GrammarSyntaxError, LimitExceeded
from grammar_cache.expression import Alt, Expression, Grammar, Ref, Repeat, Seq
from grammar_cache.lexeme import Lexeme
from grammar_cache.limits import Limits

START = "whole text"
"""The made-up rule for whole texts, and the one for what is ignored: names of Lark's have no spaces."""
IGNORED = "ignored text"

LexerName: TypeAlias = Literal["dynamic", "contextual"]

_DEFAULT = Limits()


def parse(text: str, *, start: str = "start", lexer: LexerName = "dynamic", limits: Limits = _DEFAULT) -> Grammar:
    """The grammar whose whole texts are those of the rule `start`. Raises a `GrammarError` with line and column."""
    if len(text.encode(errors="surrogatepass")) > limits.text_bytes:
        raise LimitExceeded(f"Lark: longer than {limits.text_bytes} bytes", limit="text_bytes", line=1, column=1)
    source = tokenize(text, limits)
    with unwarned(source.canonical):
        return _grammar(source, start, lexer, limits)


def _grammar(source: Source, start: str, lexer: LexerName, limits: Limits) -> Grammar:
    loaded = load(source, outline(source, limits), start, limits)
    if len(loaded.rules) > limits.rules:
        raise source.error(LimitExceeded, f"more than {limits.rules} rules", 0, limit="rules")
    if lexer == "contextual":
        return _contextual(source, loaded, start, limits)
    lexemes = _lexemes(source, loaded, limits)
    return Grammar(_rules(loaded, start), START, lexemes=lexemes)


def _contextual(source: Source, loaded: Loaded, start: str, limits: Limits) -> Grammar:
    """Grammar for the contextual lexer. A refusal there concerns the grammar as a whole: its place is the beginning."""
    try:
        return contextual(*loaded.compiled, loaded.ignored, start, limits)
    except LimitExceeded as error:
        raise source.error(LimitExceeded, error.message, 0, limit=error.limit) from error
    except GrammarError as error:
        raise source.error(type(error), error.message, 0) from error


def _lexemes(source: Source, loaded: Loaded, limits: Limits) -> dict[str, Lexeme]:
    """One for each terminal; terminals of the same pattern share theirs."""
    by_pattern: dict[str, Lexeme] = {}
    states = 0
    for terminal in loaded.terminals.values():
        if terminal.pattern not in by_pattern:
            made = by_pattern[terminal.pattern] = _lexeme(source, terminal, limits)
            states += len(made.moves) + len(made.watches)
            if states > limits.states:
                message = f"terminals of more than {limits.states} states"
                raise source.error(LimitExceeded, message, terminal.offset, limit="states")
    return {name: by_pattern[terminal.pattern] for name, terminal in loaded.terminals.items()}


def _lexeme(source: Source, terminal: Terminal, limits: Limits) -> Lexeme:
    try:
        if parse_pattern(terminal.pattern, 0, limits).getwidth()[0] == 0:
            message = f"the terminal {terminal.name} may be empty, which Lark's dynamic lexer refuses"
            raise source.error(GrammarSyntaxError, message, terminal.offset)
        return lexeme([(terminal.pattern, 0)], limits)
    except GrammarError as error:
        if error.line is not None:
            raise
        raise _placed(source, terminal, error) from error


def _placed(source: Source, terminal: Terminal, error: GrammarError) -> GrammarError:
    """Copy of the refusal with the terminal's name and its place in the text."""
    message = f"the terminal {terminal.name}: {error.message}"
    if isinstance(error, LimitExceeded):
        return source.error(LimitExceeded, message, terminal.offset, limit=error.limit)
    return source.error(type(error), message, terminal.offset)


def _rules(loaded: Loaded, start: str) -> dict[str, Expression]:
    """Each rule as its alternatives, and the rules for what is ignored and for whole texts."""
    rules: dict[str, Expression] = {START: Ref(start)}
    skipped: tuple[Expression, ...] = ()
    if loaded.ignored:
        rules[START] = Seq((Ref(start), Ref(IGNORED)))
        rules[IGNORED] = Repeat(Alt(tuple(Ref(name) for name in loaded.ignored)), 0, None)
        skipped = (Ref(IGNORED),)
    for name, bodies in loaded.rules.items():
        alternatives: list[Expression] = []
        for body in bodies:
            items: list[Expression] = []
            for symbol in body:
                items += (*skipped, Ref(symbol.name)) if symbol.is_terminal else (Ref(symbol.name),)
            alternatives.append(Seq(tuple(items)))
        rules[name] = alternatives[0] if len(alternatives) == 1 else Alt(tuple(alternatives))
    return rules
