"""Ambiguity of Lark grammars, by automata of their terminals.

Where a terminal ends depends for Lark on what follows it: see `lexemes`. Here it ends wherever it may. So a grammar
that is unambiguous here is so for Lark; a text that has two derivations here is Lark's to judge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from lark import Lark
from lark.exceptions import LarkError
from lark.parsers.earley_forest import SymbolNode

from grammar_cache.analysis.ambiguity import UNKNOWN, Ambiguity, ambiguity
from grammar_cache.constraint import Constraint
from grammar_cache.dialects.lark.compiler import read
from grammar_cache.dialects.lark.terminals import LexedGrammar, Token
from grammar_cache.dialects.lexemes.lexeme import DEAD, OPEN, Lexeme
from grammar_cache.expression import Alt, Automaton, Expression, Grammar, Ref, Repeat, Seq
from grammar_cache.limits import Limits
from grammar_cache.special_tokens import UNKNOWN_TOKENIZER

_START = "whole text"


def lark_ambiguity(constraint: Constraint, limits: Limits) -> Ambiguity:
    """Whether some text has two parse trees for Lark. Its LALR parser, which has the contextual lexer, makes one of
    each text. Raises what parsing the constraint raises.
    """
    if constraint.lexer == "contextual":
        return Ambiguity(False)
    start = constraint.start or "start"
    lexed = read(constraint.text, start=start, limits=limits, tokens=UNKNOWN_TOKENIZER)
    symbols = [symbol for bodies in lexed.bodies.values() for body in bodies for symbol in body]
    if any(isinstance(symbol, Token) and symbol.special is not None for symbol in symbols):
        return UNKNOWN
    found = ambiguity(_grammar(lexed))
    if found.example is None or _has_two_trees(constraint.text, start, found.example):
        return found
    return UNKNOWN


def _grammar(lexed: LexedGrammar) -> Grammar:
    """The grammar over bytes: terminals are rules, with any ignored text behind them, so that one byte mostly tells
    what goes on.
    """
    ignored = Repeat(Alt(tuple(_automaton(one.lexeme) for one in lexed.ignored[0])), 0, None)
    rules: dict[str, Expression] = {_START: Seq((ignored, Ref(lexed.start)))}
    for name, bodies in lexed.bodies.items():
        ways = []
        for body in bodies:
            for token in (symbol for symbol in body if isinstance(symbol, Token)):
                rules[_terminal(token)] = Seq((_automaton(token.choices[0].lexeme), ignored))
            ways.append(Seq(tuple(Ref(one if isinstance(one, str) else _terminal(one)) for one in body)))
        rules[name] = Alt(tuple(ways))
    return Grammar(rules, _START)


def _terminal(token: Token) -> str:
    return f"terminal {token.name}"  # no rule's name has a space


def _automaton(lexeme: Lexeme) -> Automaton:
    """Texts that a lexeme reads, whatever follows them."""
    edges = []
    for state, after in enumerate(lexeme.moves):
        first = np.flatnonzero(np.diff(after, prepend=DEAD - 1))
        last = np.append(first[1:], 256) - 1
        edges += [
            (state, low, high, int(after[low]))
            for low, high in zip(first.tolist(), last.tolist(), strict=True)
            if after[low] != DEAD
        ]
    ends = np.flatnonzero(lexeme.closes != OPEN).astype(np.int32)
    return Automaton(len(lexeme.moves), np.array(edges, np.int32).reshape(-1, 4), ends)


def _has_two_trees(text: str, start: str, example: bytes) -> bool:
    """Whether Lark finds two derivations of an example, in its packed forest: trees may be too many."""
    try:
        forest: Any = Lark(text, start=start, ambiguity="forest").parse(example.decode())
    except (LarkError, UnicodeDecodeError):
        return False
    except RuntimeError as error:  # Lark's word for ignored text at the end that a rule reads as well
        return "multiple start symbol items" in str(error)
    todo, seen = [forest], set()
    while todo:
        node = todo.pop()
        if id(node) in seen or not hasattr(node, "children"):
            continue
        seen.add(id(node))
        if isinstance(node, SymbolNode) and len(node.children) > 1:
            return True
        todo += node.children
    return False
