"""Texts that may come next, for people: few enough to be read."""

from __future__ import annotations

from itertools import groupby

from grammar_cache.grammar import CompiledGrammar

MOST = 8
"""Texts that are told one by one; of more, the ranges of their first characters."""

LONGEST = 24
"""Bytes of a text that has no alternative."""

ANY_OTHER = "other characters"
"""Name of all that is not ASCII."""


def next_texts(grammar: CompiledGrammar, configuration: int) -> tuple[str, ...]:
    """Texts of which one comes next, each as far as it has no alternative, or ranges such as `a–z` of their beginnings.

    None where the text can only end. The grammar decides, no budget and no tokens. Raises LimitExceeded.
    """
    ways = _ways(grammar, configuration)
    if len(ways) > MOST or any(byte >= 0x80 for byte in ways):
        return tuple(_ranges(sorted(ways)))
    return tuple(_forced(grammar, bytes([byte]), after) for byte, after in sorted(ways.items()))


def _ways(grammar: CompiledGrammar, configuration: int) -> dict[int, int]:
    """Configurations behind the bytes that may come next."""
    found: dict[int, int] = {}
    for members in grammar.network.alike:
        after = grammar.consume_bytes(configuration, bytes(members[:1]))
        if after is not None:
            found.update(dict.fromkeys(members, after))
    return found


def _forced(grammar: CompiledGrammar, text: bytes, configuration: int) -> str:
    while len(text) < LONGEST and not grammar.accepts(configuration):
        ways = _ways(grammar, configuration)
        if len(ways) != 1:
            break
        [(byte, configuration)] = ways.items()
        text += bytes([byte])
    return text.decode(errors="replace")


def _ranges(first: list[int]) -> list[str]:
    """Ranges of characters, by their first bytes: ASCII as it is, of all others that there are some."""
    told = []
    for _, group in groupby(enumerate(byte for byte in first if byte < 0x80), lambda pair: pair[1] - pair[0]):
        members = [_character(byte) for _, byte in group]
        told += members if len(members) < 3 else [f"{members[0]}–{members[-1]}"]
    return told + ([ANY_OTHER] if first[-1] >= 0x80 else [])


def _character(byte: int) -> str:
    return chr(byte) if chr(byte).isprintable() else f"\\x{byte:02x}"
