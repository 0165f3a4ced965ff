"""Work that is told to stop stops."""

from __future__ import annotations

import threading
from time import monotonic, sleep

import numpy as np
import pytest

from grammar_cache import Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.automata.builder import Builder
from grammar_cache.automata.dfa import determinise
from grammar_cache.automata.nfa import byte_classes
from grammar_cache.configurations.interner import Configurations
from grammar_cache.errors import Interrupted
from grammar_cache.expression import Alt, And, Bytes, Expression, Grammar, Repeat, Seq
from grammar_cache.interrupt import Interrupt
from grammar_cache.network.network import build

NO_RULES: dict[str, Expression] = {}
VOCABULARY = Vocabulary([bytes([byte]) for byte in range(256)], [256])
MANY = "\n".join(["root ::= a0", *(f'a{i} ::= "x" a{i + 1} | "y" a{i}' for i in range(900)), 'a900 ::= "z"'])
NESTED = """
root ::= "(" root ")" | "[" root "]" | "{" root "}" | body
body ::= "x" body "y" "z" | "z" "z" "z" "z" "z" "z"
"""
HOSTILE = {
    "rules": Constraint("gbnf", MANY),
    "counts": Constraint("regex", "(a|b|cd){3000}(e|f|gh){3000}"),
    "search": Constraint("gbnf", NESTED),
}


class Late(Interrupt):
    """Set by itself when it is looked at once too often."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.left = looks

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            self.set()
        super().check()


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_compile_stops_wherever_it_is(kind: str) -> None:
    """A compile that isn't wanted any more raises Interrupted at every point where it looks."""
    whole = Late(1 << 60)
    _ = compile_grammar(HOSTILE[kind], VOCABULARY, Limits(start_fuel=1_000_000), whole).minimum
    looks = (1 << 60) - whole.left
    assert looks > 10
    for at in np.linspace(0, looks - 1, 12).astype(int).tolist():
        VOCABULARY.clear_caches()
        with pytest.raises(Interrupted):
            _ = compile_grammar(HOSTILE[kind], VOCABULARY, Limits(start_fuel=1_000_000), Late(at)).minimum


def test_compiled_loops_stop_too() -> None:
    """Subsets, intersections and configurations are given up before they are done."""
    interrupt = Interrupt()
    letters: Expression = Alt((Bytes(b"a"), Bytes(b"b")))
    wide = Seq((Repeat(letters, 0, None), Bytes(b"a"), Repeat(letters, 16, 16)))
    builder = Builder({}, NO_RULES.__getitem__, 10**9, 10, interrupt)
    nfa = builder.nfa(wide)
    table = Configurations(build(Grammar({"s": wide}, "s"), Limits(rule_states=10**6)), 100, interrupt)
    none = np.zeros(0, np.bool_)
    interrupt.set()
    with pytest.raises(Interrupted):
        determinise(nfa, byte_classes([nfa]), none, none, 10**9, interrupt)
    with pytest.raises(Interrupted):
        builder.nfa(And((letters, letters)))
    with pytest.raises(Interrupted):
        table.step(table.start, ord("a"))


def test_another_thread_stops_a_long_construction_soon() -> None:
    """A construction that would take for ever ends within a fraction of a second after being told."""
    interrupt = Interrupt()
    letters: Expression = Alt((Bytes(b"a"), Bytes(b"b")))
    nfa = Builder({}, NO_RULES.__getitem__, 10**9, 10).nfa(
        Seq((Repeat(letters, 0, None), Bytes(b"a"), Repeat(letters, 40, 40)))
    )
    none = np.zeros(0, np.bool_)
    told: list[float] = []

    def tell() -> None:
        sleep(0.05)
        told.append(monotonic())
        interrupt.set()

    determine = threading.Thread(target=tell)
    determine.start()
    with pytest.raises(Interrupted):
        determinise(nfa, byte_classes([nfa]), none, none, 10**9, interrupt)
    assert monotonic() - told[0] < 0.5
    determine.join()
