"""Loop exits are counted in what tables hold, each once."""

from __future__ import annotations

from grammar_cache import Constraint, Vocabulary, compile_grammar
from grammar_cache.successors.loop_exits import KnownExits

VOCABULARY = Vocabulary([bytes([byte]) for byte in range(97, 123)] + [b"ab", b"ba", None], [28])


def test_exits_are_counted_once_for_each_state() -> None:
    grammar = compile_grammar(Constraint("regex", "[a-z]*[0-9]?"), VOCABULARY)
    exits = KnownExits(grammar._configurations, VOCABULARY)
    assert exits.held_bytes == 0
    inside = grammar._configurations.step(grammar.start, ord("a"))
    for configuration in (grammar.start, inside):
        exits.around(configuration)
    held = exits.held_bytes
    assert held == sum(100 + (0 if known is None else known.own_bytes) for known in exits._by_state.values()) + sum(
        like.size_bytes for like in exits._likes.values()
    )
    exits.around(grammar.start)
    assert exits.held_bytes == held


def test_tables_count_their_exits() -> None:
    grammar = compile_grammar(
        Constraint("regex", '"[a-z]*"'), Vocabulary([*map(bytes, [[n] for n in range(33, 123)]), None], [90])
    )
    tables = grammar._tables
    held, before = tables.held_bytes, tables._exits.held_bytes
    tables._exits.around(grammar._configurations.step(grammar.start, ord('"')))
    assert tables._exits.held_bytes > before
    assert tables.held_bytes - held == tables._exits.held_bytes - before
