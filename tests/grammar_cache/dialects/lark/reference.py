"""Membership in a grammar with lexemes, straight from the definitions: slow, and sharing no code with the automaton."""

from __future__ import annotations

from collections import defaultdict

from grammar_cache.dialects.lexemes.lexeme import DEAD, FATAL, HARMLESS, OPEN, Lexeme
from grammar_cache.expression import Alt, Bytes, Expression, Ref, Repeat, Seq
from tests.grammar_cache.dialects.lark.lark_oracle import WithLexemes


def spans(lexeme: Lexeme, text: bytes, begin: int) -> set[int]:
    """Places where a lexeme that begins there may end, its watch having seen the whole rest of the text."""
    ends: set[int] = set()
    state = 0
    for offset in range(begin, len(text)):
        state = int(lexeme.moves[state, text[offset]])
        if state == DEAD:
            break
        close = int(lexeme.closes[state])
        if close != OPEN and _survives(lexeme, close, text[offset + 1 :]):
            ends.add(offset + 1)
    return ends


def _survives(lexeme: Lexeme, watch: int, rest: bytes) -> bool:
    for byte in rest:
        if watch in {HARMLESS, FATAL}:
            break
        watch = int(lexeme.watches[watch, byte])
    return watch == HARMLESS or (watch != FATAL and bool(lexeme.ends[watch]))


def accepts(grammar: WithLexemes, text: bytes) -> bool:
    """Whether the start rule derives exactly the text: the least fixpoint over (rule, begin) -> ends."""
    lexed = {
        (name, begin): spans(lexeme, text, begin)
        for name, lexeme in grammar.lexemes.items()
        for begin in range(len(text) + 1)
    }
    table: dict[tuple[str, int], set[int]] = defaultdict(set)
    wanted: dict[tuple[str, int], None] = {(grammar.start, 0): None}

    def ends(node: Expression, begin: int) -> set[int]:
        match node:
            case Ref(name) if name in grammar.lexemes:
                return lexed[name, begin]
            case Ref(name):
                wanted[name, begin] = None
                return table[name, begin]
            case Bytes(data):
                return {begin + len(data)} if text.startswith(data, begin) else set()
            case Seq(items):
                found = {begin}
                for item in items:
                    found = {end for place in found for end in ends(item, place)}
                return found
            case Alt(items):
                return {end for item in items for end in ends(item, begin)}
            case Repeat(item, 0, None):
                found, new = {begin}, {begin}
                while new:
                    new = {end for place in new for end in ends(item, place)} - found
                    found |= new
                return found
            case _:
                raise NotImplementedError(node)

    before = -1
    while before != (before := len(wanted) + sum(map(len, table.values()))):
        for name, begin in list(wanted):
            table[name, begin] |= ends(grammar.rules[name], begin)
    return len(text) in table[grammar.start, 0]
