"""Random grammars in the notation of `examples/one_file.py`, with tokens, for it and for the core."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from hypothesis import strategies as st

from grammar_cache import Constraint
from grammar_cache.compile import compile_grammar
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, And, Automaton, Bytes, CharClass, Expression, Grammar, Not, Ref, Repeat, Seq
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.vocabulary.vocabulary import Vocabulary
from tests.documents import ROOT
from tests.strategies import grammars, vocabularies

FILE = ROOT / "examples" / "one_file.py"
ADDITIVE = Limits(start_fuel=0, step_fuel=0, byte_cost=1_000_000)
"""No searches; random grammars are very ambiguous."""


@cache
def one_file() -> ModuleType:
    spec = importlib.util.spec_from_file_location("one_file", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["one_file"] = module
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Case:
    """A grammar in GBNF, its rules, and tokens; the end token has the id behind them."""

    text: str
    grammar: Grammar
    letters: bytes
    tokens: tuple[bytes, ...]

    @property
    def end(self) -> int:
        return len(self.tokens)

    def machine(self) -> Any:
        return one_file().Machine(self.text, (*self.tokens, b""), self.end)

    def vocabulary(self) -> Vocabulary:
        return Vocabulary([*(token or None for token in self.tokens)], [self.end])

    def compiled(self) -> CompiledGrammar | None:
        try:
            return compile_grammar(Constraint("gbnf", self.text), self.vocabulary(), ADDITIVE)
        except EmptyLanguage:
            return None


@st.composite
def cases(draw: st.DrawFn, *, distinct: bool = False) -> Case:
    letters = draw(st.sampled_from([b"ab", b"abc"]))
    drawn = draw(grammars(letters))
    named = {name: plain(body) for name, body in drawn.rules.items()}
    named["root"] = named.pop("r0")
    tokens, _ = draw(vocabularies(letters))
    spelled = tuple(token or b"" for token in tokens)
    text = "\n".join(f"{name} ::= {written(body)}" for name, body in named.items())
    return Case(text, Grammar(named, "root"), letters, tuple(dict.fromkeys(spelled)) if distinct else spelled)


def plain(body: Expression) -> Expression:
    """Shape without what the single file's notation lacks: no And, no Not, no automaton, no large counts."""
    match body:
        case Ref(name):
            return Ref("root" if name == "r0" else name)
        case Seq(items):
            return Seq(tuple(map(plain, items)))
        case Alt(items) | And(items) | Automaton(items=items):
            return Alt(tuple(map(plain, items)) or (Bytes(b""),))
        case Not(item):
            return plain(item)
        case Repeat(item, least, most):
            few = None if most is None else min(most, 2 + least % 2)
            return Repeat(plain(item), min(least, 2 if few is None else few), few)
    return body


def written(body: Expression) -> str:
    match body:
        case Bytes(data):
            return f'"{data.decode()}"'
        case CharClass(ranges):
            return "[" + "".join(f"{chr(low)}-{chr(high)}" for low, high in ranges) + "]"
        case Ref(name):
            return name
        case Seq(items):
            return " ".join(map(written, items)) or '""'
        case Alt(items):
            return "(" + " | ".join(map(written, items)) + ")"
        case Repeat(item, least, most):
            times = f"{{{least}}}" if most == least else f"{{{least},{'' if most is None else most}}}"
            return f"({written(item)}){times}"
    raise AssertionError(body)
