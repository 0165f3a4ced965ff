"""Entry to compilation, from a constraint to a compiled grammar: picks the dialect, checks the size, memoises
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import get_args

from grammar_cache.automata.automaton_cache import AutomatonCache
from grammar_cache.constraint import Constraint, Whitespace
from grammar_cache.dialects import choice
from grammar_cache.dialects.gbnf import compiler as gbnf
from grammar_cache.dialects.json_schema import compiler as json_schema
from grammar_cache.dialects.json_schema.rule_names import pointer_of
from grammar_cache.dialects.lark import compiler as lark
from grammar_cache.dialects.regex import compiler as regex
from grammar_cache.dialects.structural_tags import compiler as structural_tags
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.expression import Grammar
from grammar_cache.grammar import ALGORITHM_VERSION, CompiledGrammar
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import DEFAULT_LIMITS, Limits
from grammar_cache.network.network import build
from grammar_cache.special_tokens import ESCAPE, UNKNOWN_TOKENIZER, SpecialTokens
from grammar_cache.unique_items.unique_items_grammar import with_unique_items
from grammar_cache.vocabulary.vocabulary import Vocabulary

_NAMING = frozenset({"gbnf", "lark", "structural_tag"})
"""Kinds of constraints that may name special tokens."""


def compile_grammar(
    constraint: Constraint,
    vocabulary: Vocabulary,
    limits: Limits = DEFAULT_LIMITS,
    interrupt: Interrupt | None = None,
) -> CompiledGrammar:
    """Raises a `GrammarError` for whatever can't be honoured; see `errors`.

    Once an `interrupt` is set, this and the search for the minimum raise Interrupted.
    """
    grammar = parse(constraint, limits, vocabulary.special)
    if interrupt is not None:
        interrupt.check()
    try:
        return compile_expression(grammar, vocabulary, limits, interrupt)
    except LimitExceeded as error:
        if constraint.kind == "json_schema" and error.rule is not None:
            error.pointer = pointer_of(error.rule, grammar)
        raise


def parse(
    constraint: Constraint, limits: Limits = DEFAULT_LIMITS, tokens: SpecialTokens = UNKNOWN_TOKENIZER
) -> Grammar:
    """The constraint as an expression grammar. `tokens` are those that it may have as terminals."""
    try:
        size = len(constraint.text.encode())
    except UnicodeEncodeError as error:
        raise GrammarSyntaxError("the grammar holds a lone surrogate, which no text can hold") from error
    if size > limits.text_bytes:
        raise LimitExceeded(f"the grammar has more than {limits.text_bytes} bytes", limit="text_bytes")
    _check_choices(constraint)
    match constraint.kind:
        case "json_schema":
            return json_schema.parse(
                constraint.text, whitespace=constraint.whitespace, lenient=constraint.lenient, limits=limits
            )
        case "gbnf":
            return gbnf.parse(constraint.text, start=constraint.start or "root", limits=limits, tokens=tokens)
        case "regex":
            return regex.parse_grammar(constraint.text, limits=limits)
        case "choice":
            return choice.parse(constraint.text, limits=limits)
        case "lark":
            start, lexer = constraint.start or "start", constraint.lexer or "dynamic"
            return lark.parse(constraint.text, start=start, lexer=lexer, limits=limits, tokens=tokens)
        case "structural_tag":
            return structural_tags.parse(
                constraint.text,
                whitespace=constraint.whitespace,
                lenient=constraint.lenient,
                limits=limits,
                tokens=tokens,
            )
        case _:
            raise UnsupportedFeature(f"unknown kind of constraint: {constraint.kind!r}")


def _check_choices(constraint: Constraint) -> None:
    """Raises UnsupportedFeature for choices that there are not, for this kind of constraint or at all."""
    if constraint.start is not None and constraint.kind not in ("gbnf", "lark"):
        raise UnsupportedFeature(f"a {constraint.kind} constraint has no start rule to choose")
    if constraint.lexer is not None and constraint.kind != "lark":
        raise UnsupportedFeature(f"a {constraint.kind} constraint has no lexer to choose")
    if constraint.lexer not in (None, *get_args(lark.LexerName)):
        raise UnsupportedFeature(f"unknown lexer: {constraint.lexer!r}")
    if constraint.whitespace not in get_args(Whitespace):
        raise UnsupportedFeature(f"unknown white space: {constraint.whitespace!r}")


def constraint_id(constraint: Constraint, vocabulary: Vocabulary) -> str:
    """The id of the grammar that a constraint compiles to: the same on every machine."""
    parts = (
        constraint.kind,
        constraint.text,
        constraint.start or "",
        constraint.lexer or "",
        constraint.whitespace,
        "lenient" if constraint.lenient else "",
        *([vocabulary.special_fingerprint] if constraint.kind in _NAMING and vocabulary.special.names else []),
    )
    return grammar_id(parts, vocabulary)


def compile_expression(
    grammar: Grammar, vocabulary: Vocabulary, limits: Limits, interrupt: Interrupt | None = None
) -> CompiledGrammar:
    """The last step of every dialect: network, configurations, distances."""
    network = build(grammar, limits, interrupt, vocabulary.cache(AutomatonCache))
    if network.reads(ESCAPE):
        vocabulary = vocabulary.with_special_tokens
    return with_unique_items(CompiledGrammar(network, vocabulary, limits, grammar.ignored, interrupt))


def grammar_id(parts: Sequence[str], vocabulary: Vocabulary) -> str:
    """A content hash: equal for equal grammar texts and options, tokenizer and algorithm, on any machine."""
    digest = sha256()
    for part in (*parts, vocabulary.fingerprint, ALGORITHM_VERSION):
        digest.update(len(part).to_bytes(8, "big") + part.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]
