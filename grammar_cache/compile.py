"""Entry to compilation, from a constraint to a compiled grammar: picks the dialect, checks the size, memoises
nothing.
"""

from __future__ import annotations

from grammar_cache.constraint import Constraint
from grammar_cache.dialects import choice
from grammar_cache.dialects.gbnf import compiler as gbnf
from grammar_cache.dialects.json_schema import compiler as json_schema
from grammar_cache.dialects.lark import compiler as lark
from grammar_cache.dialects.regex import compiler as regex
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.expression import Grammar
from grammar_cache.grammar import CompiledGrammar, compile_expression, grammar_id
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import Limits
from grammar_cache.vocabulary.vocabulary import Vocabulary

DEFAULT_LIMITS = Limits()


def compile_grammar(
    constraint: Constraint,
    vocabulary: Vocabulary,
    limits: Limits = DEFAULT_LIMITS,
    interrupt: Interrupt | None = None,
) -> CompiledGrammar:
    """Raises a `GrammarError` for whatever can't be honoured; see `errors`.

    Once an `interrupt` is set, this and the search for the minimum raise Interrupted.
    """
    grammar = parse(constraint, limits)
    if interrupt is not None:
        interrupt.check()
    return compile_expression(grammar, vocabulary, limits, interrupt)


def parse(constraint: Constraint, limits: Limits = DEFAULT_LIMITS) -> Grammar:
    """The constraint as an expression grammar, without a vocabulary."""
    try:
        size = len(constraint.text.encode())
    except UnicodeEncodeError as error:
        raise GrammarSyntaxError("the grammar holds a lone surrogate, which no text can hold") from error
    if size > limits.text_bytes:
        raise LimitExceeded(f"the grammar has more than {limits.text_bytes} bytes", limit="text_bytes")
    if constraint.start is not None and constraint.kind not in ("gbnf", "lark"):
        raise UnsupportedFeature(f"a {constraint.kind} constraint has no start rule to choose")
    if constraint.lexer is not None and constraint.kind != "lark":
        raise UnsupportedFeature(f"a {constraint.kind} constraint has no lexer to choose")
    match constraint.kind:
        case "json_schema":
            return json_schema.parse(
                constraint.text, whitespace=constraint.whitespace, lenient=constraint.lenient, limits=limits
            )
        case "gbnf":
            return gbnf.parse(constraint.text, start=constraint.start or "root", limits=limits)
        case "regex":
            return regex.parse_grammar(constraint.text, limits=limits)
        case "choice":
            return choice.parse(constraint.text, limits=limits)
        case "lark":
            start, lexer = constraint.start or "start", constraint.lexer or "dynamic"
            return lark.parse(constraint.text, start=start, lexer=lexer, limits=limits)
        case _:
            raise UnsupportedFeature(f"unknown kind of constraint: {constraint.kind!r}")


def constraint_id(constraint: Constraint, vocabulary: Vocabulary) -> str:
    """The id of the grammar that a constraint compiles to: the same on every machine."""
    parts = (
        constraint.kind,
        constraint.text,
        constraint.start or "",
        constraint.lexer or "",
        constraint.whitespace,
        "lenient" if constraint.lenient else "",
    )
    return grammar_id(parts, vocabulary)
