"""Loading of a Lark grammar text, as Lark itself views it: terminals, rules in Backus-Naur form, ignored terminals.

Lark does the work, so that operators, templates, imports, aliases, overriding and flags mean what they mean to it. Here
is what stands around: the bounds on what it is asked to do, and the place in the text of whatever it refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lark.exceptions import LarkError, UnexpectedInput, VisitError
from lark.load_grammar import Grammar as LoadedGrammar
from lark.load_grammar import GrammarBuilder, _get_parser, eval_escaping

from grammar_cache.dialects.lark.bounds import RuleTree, TooLarge, check_expansion
from grammar_cache.dialects.lark.outline import Outline
from grammar_cache.dialects.lark.tokens import LarkToken, Source
from grammar_cache.dialects.lexemes.reader import parse as parse_pattern
from grammar_cache.errors import GrammarError, GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.limits import Limits

_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_MISSING = re.compile(r"'(\w+)(?:\{.*)?' used but not defined|used but not defined: (\w+)")
_TWICE = re.compile(r"Rules defined twice: \* <(\S+) : .*")
_ESCAPE = re.compile(r"\\(?:U[0-9a-fA-F]{8}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[^Uux])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A rule or a terminal in the body of a rule."""

    name: str
    is_terminal: bool


@dataclass(frozen=True, slots=True)
class Terminal:
    """`pattern` is a regular expression of Python's `re`, flags included. `offset` is its place in the text."""

    name: str
    pattern: str
    offset: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """`rules` holds each rule's alternatives. Only what the start rule leads to, and what is ignored, is kept."""

    rules: dict[str, list[tuple[Symbol, ...]]]
    terminals: dict[str, Terminal]
    ignored: tuple[str, ...]
    compiled: tuple[list[Any], list[Any]]
    """Terminals and rules as Lark's own objects, in its order: `TerminalDef` and `Rule`."""


def load(source: Source, found: Outline, start: str, limits: Limits) -> Loaded:
    """Raises a `GrammarError` with line and column for whatever Lark refuses, and for what would take it too long."""
    _check_syntax(source)
    try:
        _check_patterns(source, limits)
        builder = GrammarBuilder()
        builder.load_grammar(source.canonical, "<string>")
        grammar = builder.build()
        place = _start_place(source, found, grammar, start)
        names = _check_size(grammar)
        # With every rule as a start Lark drops none, which would take it quadratic time; see `_reachable`.
        terminals, rules, ignored = grammar.compile(names, "*")
    except GrammarError:
        raise
    except TooLarge as error:
        raise source.error(LimitExceeded, str(error), 0, limit="expression_size") from error
    except RecursionError as error:
        raise source.error(LimitExceeded, "nested too deeply", 0, limit="nesting") from error
    except Exception as error:  # Lark reports bad grammars by assertions and lookups as well as by its own errors
        raise _refused(source, found, error) from error
    return _selected(source, found, terminals, rules, ignored, start, place)


def _check_syntax(source: Source) -> None:
    """Lark's loader looks for a good message by parsing examples: too long on large texts, so the syntax goes first."""
    try:
        _get_parser().parse(source.canonical + "\n", "start")
    except UnexpectedInput as error:
        # The end of the text has no position of its own.
        offset = error.pos_in_stream
        place = len(source.text) if offset is None else source.original(offset)
        token = getattr(error, "token", None)
        what = "end of the line" if token is None or not str(token).strip() else str(token)
        raise source.error(GrammarSyntaxError, f"unexpected {what}", place) from error


def _check_patterns(source: Source, limits: Limits) -> None:
    """Each regular expression is one by itself. Lark would first notice where it joins or sorts them."""
    known: set[str] = set()
    for token in source.tokens:
        if token.kind == "regexp" and token.text not in known:
            known.add(token.text)
            body, _, flags = token.text[1:].rpartition("/")
            try:
                parse_pattern(eval_escaping(body), re.VERBOSE if "x" in flags else 0, limits)
            except GrammarError as error:
                if isinstance(error, LimitExceeded):
                    raise source.error(LimitExceeded, error.message, token.offset, limit=error.limit) from error
                raise source.error(type(error), error.message, token.offset) from error


def _start_place(source: Source, found: Outline, grammar: LoadedGrammar, start: str) -> int:
    """Offset of the start rule. It has to be a rule, and one without parameters."""
    for name, parameters, _, _ in grammar.rule_defs:
        if name == start and not parameters:
            return found.place(start) or 0
    raise source.error(GrammarSyntaxError, f"there is no rule {start} to start with", 0)


def _check_size(grammar: LoadedGrammar) -> list[str]:
    """The names of all rules that aren't templates."""
    trees = [RuleTree(name, tuple(parameters), tree) for name, parameters, tree, _ in grammar.rule_defs]
    check_expansion(trees)
    return [rule.name for rule in trees if not rule.parameters]


def _refused(source: Source, found: Outline, error: Exception) -> GrammarError:
    """Refusal of Lark, at the place of what its message names."""
    cause = error.orig_exc if isinstance(error, VisitError) else error
    literal = _bad_literal(source)
    if literal is not None:
        return source.error(GrammarSyntaxError, f"{literal[1]}: {_shortened(literal[0].text)}", literal[0].offset)
    if isinstance(cause, OSError):
        return source.error(UnsupportedFeature, "an import from elsewhere than Lark's own grammars", 0)
    message = " ".join(str(cause).split("(Might")[0].split()) if isinstance(cause, LarkError | ValueError) else ""
    missing = _MISSING.search(message)
    if missing:
        name = missing[1] or missing[2]
        where = found.uses.get(name, found.place(name)) or 0
        return source.error(GrammarSyntaxError, f"{name} is used but not defined", where)
    message = _TWICE.sub(r"two alternatives of the rule \1 are the same, once optional parts are left out", message)
    return source.error(GrammarSyntaxError, message or "Lark can't load this grammar", _named_place(found, message))


def _named_place(found: Outline, message: str) -> int:
    """The first name in the message that the text knows; where one is defined twice, the second definition."""
    for name in _NAME.findall(message):
        place = found.place(name)
        if place is not None:
            return place
    return 0


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _bad_literal(source: Source) -> tuple[LarkToken, str] | None:
    """The first string or regular expression that can't be read, and why."""
    dots = {index for index, token in enumerate(source.tokens) if token.text == ".."}
    for index, token in enumerate(source.tokens):
        if token.kind not in {"string", "regexp"}:
            continue
        body, flags = token.text[1 : token.text.rindex(token.text[0])], token.text.rpartition(token.text[0])[2]
        if "\0" in body:
            return token, "a null character, which is written \\x00"
        if not body:
            return token, "an empty terminal"
        if "\n" in body and "x" not in flags:
            return token, "a line break in a regular expression without the flag x"
        if re.search(r"\\[Uux]", _ESCAPE.sub("", body)):
            return token, "an escape that isn't complete"
        if {index - 1, index + 1} & dots and len(_ESCAPE.sub("x", body)) != 1:
            return token, "the bound of a range is one character"
    return None


def _selected(
    source: Source,
    found: Outline,
    terminals: Iterable[Any],
    rules: list[Any],
    ignored: Iterable[str],
    start: str,
    place: int,
) -> Loaded:
    bodies: dict[str, list[tuple[Symbol, ...]]] = {}
    for rule in rules:
        body = tuple(Symbol(str(symbol.name), bool(symbol.is_term)) for symbol in rule.expansion)
        bodies.setdefault(str(rule.origin.name), []).append(body)
    bare = _without_arguments(bodies)
    if bare is not None:
        message = f"the rule {bare} is a template: it is used with arguments, as {bare}{{...}}"
        raise source.error(GrammarSyntaxError, message, found.declared.get(bare, place))
    kept = _reachable(bodies, start)
    reached = set(kept)
    ignores = tuple(dict.fromkeys(str(name) for name in ignored))
    used = {symbol.name for name in kept for body in bodies[name] for symbol in body if symbol.is_terminal}
    used.update(ignores)
    defined = {str(terminal.name): terminal for terminal in terminals}
    for name in sorted(used - defined.keys() - source.special.keys()):
        where = found.declared.get(name, place)
        raise source.error(UnsupportedFeature, f"the terminal {name} is declared but not defined", where)
    literals = _first_places(source)
    chosen = {}
    for name, terminal in defined.items():
        if name in used:
            where = found.place(name) or literals.get(terminal.pattern.raw, place)
            chosen[name] = Terminal(name, terminal.pattern.to_regexp(), where)
    compiled = (
        [terminal for terminal in defined.values() if terminal.name in used],
        [rule for rule in rules if rule.origin.name in reached],
    )
    return Loaded({name: bodies[name] for name in kept}, chosen, ignores, compiled)


def _first_places(source: Source) -> dict[str, int]:
    """Offset of each string and regular expression where it stands first."""
    return {token.text: token.offset for token in reversed(source.tokens) if token.kind in {"string", "regexp"}}


def _without_arguments(bodies: dict[str, list[tuple[Symbol, ...]]]) -> str | None:
    """A rule that is used and has no body: of a template Lark makes one for each of its uses with arguments."""
    used = (symbol for rule in bodies.values() for body in rule for symbol in body if not symbol.is_terminal)
    return next((symbol.name for symbol in used if symbol.name not in bodies), None)


def _reachable(bodies: dict[str, list[tuple[Symbol, ...]]], start: str) -> list[str]:
    """The rules that the start leads to, itself first."""
    found = {start: None}
    todo = [start]
    while todo:
        for body in bodies[todo.pop()]:
            for symbol in body:
                if not symbol.is_terminal and symbol.name not in found:
                    found[symbol.name] = None
                    todo.append(symbol.name)
    return list(found)
