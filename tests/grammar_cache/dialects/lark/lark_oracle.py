"""Lark's own answers, and the shape of a grammar that its answers are compared with."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from lark import Lark
from lark.exceptions import UnexpectedInput

from grammar_cache.dialects.lark import compiler as lark
from grammar_cache.dialects.lexemes.lexeme import DEAD, OPEN, Lexeme
from grammar_cache.expression import EMPTY, NOTHING, Alt, Bytes, Expression, Grammar, Ref, Repeat, Seq
from tests.grammar_cache.dialects.grammar_sampler import Sampler

POPULAR = np.frombuffer(b" \n\"'()+,-.0129:;=ABab{}xyz_", np.uint8)

Oracle = Callable[[str], bool]


def dynamic(grammar: str, start: str = "start") -> Oracle:
    """Oracle of `Lark(grammar)`: Earley with the dynamic lexer. No tree is made: ambiguous ones take minutes."""
    return _accepts(Lark(grammar, start=start, ambiguity="forest"))


def contextual(grammar: str, start: str = "start") -> Oracle:
    """Oracle of `Lark(grammar, parser="lalr")`: LALR(1) with the contextual lexer."""
    return _accepts(Lark(grammar, parser="lalr", start=start))


def _accepts(parser: Lark) -> Oracle:
    def accepts(text: str) -> bool:
        try:
            parser.parse(text)
        except UnexpectedInput:
            return False
        except RuntimeError as error:
            # Lark has found two derivations: ignored text at the end that an alternative of `start` reads as well.
            # It asks to report that as a bug of its own; the text does belong.
            return "multiple start symbol items" in str(error)
        return True

    return accepts


@dataclass(frozen=True, slots=True)
class WithLexemes:
    """A grammar as it is before it is multiplied with contexts: rules over terminals, which have lexemes."""

    rules: dict[str, Expression]
    start: str
    lexemes: dict[str, Lexeme]

    @staticmethod
    def of(text: str, start: str = "start") -> WithLexemes:
        """Grammar as the dynamic lexer reads it."""
        read = lark.read(text, start=start)
        ignored = {f"ignored {i}": choice.lexeme for i, choice in enumerate(read.ignored[0])}
        skipped = Repeat(Alt(tuple(map(Ref, ignored))), 0, None)
        rules: dict[str, Expression] = {"whole text": Seq((Ref(read.start), skipped))}
        lexemes = ignored
        for name, bodies in read.bodies.items():
            ways: list[Expression] = []
            for body in bodies:
                items: list[Expression] = []
                for symbol in body:
                    if isinstance(symbol, str):
                        items.append(Ref(symbol))
                        continue
                    lexemes[symbol.name] = symbol.choices[0].lexeme
                    items += (skipped, Ref(symbol.name))
                ways.append(Seq(tuple(items)))
            rules[name] = Alt(tuple(ways))
        return WithLexemes(rules, "whole text", lexemes)


class LexedSampler:
    """Texts of a grammar with lexemes, most of which belong: lexemes are drawn one by one, whatever comes next."""

    def __init__(self, grammar: WithLexemes, rng: random.Random) -> None:
        drawn: dict[str, Expression] = {}
        for name, lexeme in sorted(grammar.lexemes.items()):
            texts = {text for text in (_walk(lexeme, rng) for _ in range(6)) if text}
            drawn[name] = Alt(tuple(Bytes(text) for text in sorted(texts)))
        rules = _productive({**grammar.rules, **drawn})
        self._sampler = (
            Sampler(Grammar(rules, grammar.start), rng.randrange(1 << 30)) if grammar.start in rules else None
        )

    def text(self, depth: int = 6) -> str | None:
        drawn = None if self._sampler is None else self._sampler.text(depth)
        return None if drawn is None else drawn.decode(errors="ignore")


def _productive(rules: dict[str, Expression]) -> dict[str, Expression]:
    """The rules that derive texts, and in them only what does."""
    found: dict[str, Expression] = {}

    def cut(node: Expression) -> Expression:
        match node:
            case Ref(name) if name not in found:
                return NOTHING
            case Seq(items):
                parts = [cut(item) for item in items]
                return NOTHING if NOTHING in parts else Seq(tuple(parts))
            case Alt(items):
                return Alt(tuple(part for part in map(cut, items) if part != NOTHING))
            case Repeat(item, 0, most):
                part = cut(item)
                return EMPTY if part == NOTHING else Repeat(part, 0, most)
        return node

    before = -1
    while before != (before := len(found)):
        found |= {name: NOTHING for name, body in rules.items() if cut(body) != NOTHING}
    return {name: cut(rules[name]) for name in found}


def _walk(lexeme: Lexeme, rng: random.Random) -> bytes:
    """The bytes of a random way to where the lexeme may close, popular ones if they lead on; empty: none found."""
    state, taken, found = 0, bytearray(), b""
    for _ in range(24):
        targets = lexeme.moves[state]
        bytes_on = POPULAR[targets[POPULAR] != DEAD] if rng.random() < 0.95 else np.empty(0, np.uint8)
        if not len(bytes_on):
            bytes_on = np.flatnonzero(targets != DEAD)
        if not len(bytes_on):
            break
        byte = int(rng.choice(bytes_on.tolist()))
        taken.append(byte)
        state = int(targets[byte])
        if lexeme.closes[state] != OPEN:
            found = bytes(taken)
            if rng.random() < 0.5:
                break
    return found


def mutated(text: str, rng: random.Random, letters: str) -> str:
    """One character dropped, put in, exchanged or doubled."""
    place = rng.randrange(len(text) + 1)
    match rng.randrange(4):
        case 0:
            return text[:place] + text[place + 1 :]
        case 1:
            return text[:place] + rng.choice(letters) + text[place:]
        case 2:
            return text[:place] + rng.choice(letters) + text[place + 1 :]
        case _:
            return text[:place] + text[max(0, place - 2) :]
