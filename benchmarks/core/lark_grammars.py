"""Lark grammars to time, the texts for them, and whether two engines take the same texts.

SQL over the gold queries of Spider; statements of Python, which are those of some modules of the standard library that
runs this, as the grammar takes them; LTL over the formulas of the drone set.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import random
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.data import ROOT
from benchmarks.peers.peer import Peer
from grammar_cache import Constraint
from grammar_cache.compile import parse
from server.checking.membership import Recogniser

FILES = {
    "lark_sql": Path("benchmarks", "core", "lark", "sql.lark"),
    "lark_python": Path("benchmarks", "core", "lark", "python.lark"),
    "lark_dsl": Path("server", "evaluation", "ltl", "drone.lark"),
}
_MODULES = (json.decoder, json.encoder, argparse, textwrap, random)
_LENGTHS = range(8, 201)
_CHANGES = 5
"""Changed texts for each text."""
_SIGNS = " ,.()'=aZ0~"


def lark_grammar(name: str) -> Constraint:
    return Constraint("lark", (ROOT / FILES[name]).read_text(encoding="utf-8"))


def statements() -> list[str]:
    """Different simple statements of one line that the grammar for Python takes, in an order that is mixed once."""
    takes = Recogniser(parse(lark_grammar("lark_python")))
    kinds = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr, ast.Raise, ast.Assert, ast.Delete, ast.Import)
    nodes = (node for module in _MODULES for node in ast.walk(ast.parse(inspect.getsource(module))))
    texts = dict.fromkeys(ast.unparse(node) for node in nodes if isinstance(node, kinds))
    found = [text for text in texts if len(text) in _LENGTHS and text.isascii() and takes.judge(text.encode()).accepted]
    random.Random(0).shuffle(found)
    return found


def differences(
    grammar: str, peer: Peer, texts: Sequence[str], split: Callable[[str], Sequence[int]]
) -> tuple[int, int]:
    """Texts, and changed ones, of which one engine takes what the other refuses, of so many."""
    constraint = lark_grammar(grammar)
    compiled = peer.compile_lark(constraint.text)
    takes, rng = Recogniser(parse(constraint)), random.Random(0)
    changed = [_changed(text, rng) for text in texts for _ in range(_CHANGES)]
    asked = [text for text in dict.fromkeys([*texts, *changed]) if text]
    differing = 0
    for text in asked:
        session = peer.session(compiled)
        theirs = all(session.accept(token) for token in split(text)) and session.accepts()
        differing += theirs != takes.judge(text.encode()).accepted
    return differing, len(asked)


def _changed(text: str, rng: random.Random) -> str:
    """One character dropped, put in or exchanged, or the text cut there."""
    place, sign = rng.randrange(len(text)), rng.choice(_SIGNS)
    ways = (text[:place] + text[place + 1 :], text[:place] + sign + text[place:], text[:place])
    return rng.choice((*ways, text[:place] + sign + text[place + 1 :]))
