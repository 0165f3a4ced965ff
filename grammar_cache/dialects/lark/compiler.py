"""Lark grammars: the language of `Lark(grammar, start=...)`, that is Earley's algorithm with the dynamic lexer.

The contextual lexer is in `contextual`.

There is no tokenizer beforehand. Wherever the grammar can go on with a terminal, Lark matches its regular expression
there, and where it ends is decided by the expression alone: greedy, the first alternative that fits. Ignored terminals
may stand before any terminal and at the end of the text, in any number, and nowhere split a terminal. So a terminal is
a `Lexeme` here, and the grammar is multiplied with what lexemes forbid behind them (`product`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from grammar_cache.dialects.lark.contextual import contextual
from grammar_cache.dialects.lark.loading import Loaded, Terminal, load
from grammar_cache.dialects.lark.outline import outline
from grammar_cache.dialects.lark.product import START, product
from grammar_cache.dialects.lark.terminals import LabelledLexeme, LexedGrammar, Token
from grammar_cache.dialects.lark.tokens import LarkToken, Source, refusal, tokenize
from grammar_cache.dialects.lexemes.fragments import ANY
from grammar_cache.dialects.lexemes.lexeme import Lexeme
from grammar_cache.dialects.lexemes.python_regex import lexeme
from grammar_cache.dialects.lexemes.reader import parse as parse_pattern
from grammar_cache.dialects.lexemes.reader import unwarned
from grammar_cache.errors import GrammarError, GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.expression import Alt, Expression, Grammar
from grammar_cache.limits import DEFAULT_LIMITS, Limits
from grammar_cache.special_tokens import NO_TOKENS, SpecialTokens, special_terminal

LexerName: TypeAlias = Literal["dynamic", "contextual"]

_LISTED = re.compile(r"<\[([0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*)\]>")


def parse(
    text: str,
    *,
    start: str = "start",
    lexer: LexerName = "dynamic",
    limits: Limits = DEFAULT_LIMITS,
    tokens: SpecialTokens = NO_TOKENS,
) -> Grammar:
    """The grammar whose whole texts are those of the rule `start`; `tokens` may be terminals.

    Raises a `GrammarError` with line and column.
    """
    found = read(text, start=start, lexer=lexer, limits=limits, tokens=tokens)
    try:
        return Grammar(product(found, limits), START)
    except LimitExceeded as error:
        raise refusal(LimitExceeded, error.message, text, 0, limit=error.limit) from error


def read(
    text: str,
    *,
    start: str = "start",
    lexer: LexerName = "dynamic",
    limits: Limits = DEFAULT_LIMITS,
    tokens: SpecialTokens = NO_TOKENS,
) -> LexedGrammar:
    """The grammar over terminals. Raises a `GrammarError` with line and column."""
    if len(text.encode(errors="surrogatepass")) > limits.text_bytes:
        raise LimitExceeded(f"Lark: longer than {limits.text_bytes} bytes", limit="text_bytes", line=1, column=1)
    source = tokenize(text, limits)
    with unwarned(source.canonical):
        loaded = load(source, outline(source, limits), start, limits)
        if len(loaded.rules) > limits.rules:
            raise source.error(LimitExceeded, f"more than {limits.rules} rules", 0, limit="rules")
        special = {name: _special(source, token, tokens) for name, token in source.special.items()}
        if lexer == "contextual":
            for token in source.special.values():
                raise source.error(UnsupportedFeature, "a special token with the contextual lexer", token.offset)
            return _contextual(source, loaded, start, limits)
        return _dynamic(loaded, start, _lexemes(source, loaded, limits), special)


def _contextual(source: Source, loaded: Loaded, start: str, limits: Limits) -> LexedGrammar:
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


def _special(source: Source, written: LarkToken, tokens: SpecialTokens) -> Expression:
    """Any one of the tokens that `<name>`, `<[12]>` or `<[12,20-30]>` stands for."""
    listed = _LISTED.fullmatch(written.text)
    if listed is None and written.text.startswith("<["):
        message = f"{written.text}: ids and ranges of special tokens are known, no others; free text is a terminal"
        raise source.error(UnsupportedFeature, message, written.offset)
    try:
        if listed is None:
            return special_terminal(tokens.find(written.text))
        found: set[int] = set()
        for part in listed[1].split(","):
            first, _, last = part.partition("-")
            if last:
                found.update(token for token in tokens if int(first) <= token <= int(last))
            else:
                found.add(tokens.find(int(first)))
        if not found and tokens.names is not None:
            raise UnsupportedFeature(f"{written.text} has no special token in it")
    except GrammarError as error:
        raise source.error(type(error), error.message, written.offset) from error
    return Alt(tuple(map(special_terminal, sorted(found))))


def _dynamic(
    loaded: Loaded, start: str, lexemes: Mapping[str, Lexeme], special: Mapping[str, Expression]
) -> LexedGrammar:
    """The rules over terminals, which all are read by one lexer."""
    tokens = {name: Token(name, {0: LabelledLexeme(lexeme, ANY)}, None) for name, lexeme in lexemes.items()}
    tokens |= {name: Token(name, {}, None, read) for name, read in special.items()}
    bodies = {
        name: [[tokens[symbol.name] if symbol.is_terminal else symbol.name for symbol in body] for body in alternatives]
        for name, alternatives in loaded.rules.items()
    }
    return LexedGrammar(bodies, start, {0: [LabelledLexeme(lexemes[name], ANY) for name in loaded.ignored]}, 0)
