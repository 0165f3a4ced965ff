"""Prints the GBNF rules of a name that is none of the reserved words: what `sql.gbnf` and `python_subset.gbnf` have.

GBNF has no complement, so there is one branch for every beginning of reserved words: the name ends there, if that is no
reserved word itself, or goes on with a letter with which none of them does.
Usage: python scripts/gbnf_words.py sql | python
"""

from __future__ import annotations

import keyword
import string
import sys
from collections.abc import Collection

from grammar_cache.sql_schema import RESERVED

WIDTH = 118
"""Of a line: two less than there may be, for the bar, which llama.cpp wants before the end of the line."""


def rules(words: Collection[str], *, any_case: bool) -> str:
    """The rule `word`, and `more` for its later letters."""
    beginnings = sorted({word[:end] for word in words for end in range(1, len(word) + 1)})
    branches = [f"{_others('', words, any_case)} more*"]
    for beginning in beginnings:
        spelled = " ".join(_letter(char, any_case) for char in beginning) if any_case else f'"{beginning}"'
        others = f"{_others(beginning, words, any_case)} more*"
        branches.append(f"{spelled} {others}" if beginning in words else f"{spelled} ({others})?")
    return "word ::= " + " |\n  ".join(_filled(branches)) + "\nmore ::= [0-9A-Z_a-z]\n"


def _letter(char: str, any_case: bool) -> str:
    return f"[{char.upper()}{char}]" if any_case and char.isalpha() else f'"{char}"'


def _others(beginning: str, words: Collection[str], any_case: bool) -> str:
    """The class of all letters that no reserved word has behind this beginning."""
    nexts = {word[len(beginning)] for word in words if word.startswith(beginning) and word != beginning}
    gone = {form for char in nexts for form in ((char.upper(), char.lower()) if any_case else (char,))}
    ranges: list[list[str]] = []
    for char in sorted({*string.ascii_letters, "_", *(string.digits if beginning else "")} - gone):
        if ranges and ord(ranges[-1][1]) + 1 == ord(char):
            ranges[-1][1] = char
        else:
            ranges.append([char, char])
    return "[" + "".join(low if low == high else f"{low}-{high}" for low, high in ranges) + "]"


def _filled(branches: list[str]) -> list[str]:
    """As many branches on a line as there is room for; the first by itself."""
    lines = branches[:2]
    for branch in branches[2:]:
        if len(lines[-1]) + len(branch) + 5 > WIDTH:
            lines.append(branch)
        else:
            lines[-1] += " | " + branch
    return lines


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["sql"]:
            print(rules(RESERVED, any_case=True), end="")
        case ["python"]:
            print(rules(keyword.kwlist, any_case=False), end="")
        case _:
            sys.exit(__doc__)
