"""GBNF for a word that is none of some reserved ones.

GBNF has no complement, so there is one branch for every beginning of reserved words: the word ends there, if it is not
reserved itself, or goes on with a letter with which none of them does.
"""

from __future__ import annotations

import string
from collections.abc import Collection

MORE = "more ::= [0-9A-Z_a-z]"
"""The rule of a word's later letters, which `other_words` refers to."""

WIDTH = 118
"""Width of a line: two less than there may be, for the bar, which llama.cpp wants before the end of the line."""


def other_words(name: str, reserved: Collection[str], *, any_case: bool, longest: int | None = None) -> str:
    """The rule `name`, in any number of lines. Words have a letter or `_` first, then digits too.

    `any_case`: reserved words are lower-case, and are so in any case. `longest`: how many letters there are at most.
    """
    words = [word for word in reserved if longest is None or len(word) <= longest]
    beginnings = sorted({word[:end] for word in words for end in range(1, len(word) + 1)})
    branches = [_longer("", words, any_case, longest)]
    for beginning in beginnings:
        spelled = " ".join(_letter(char, any_case) for char in beginning)
        longer = _longer(beginning, words, any_case, longest)
        if beginning not in words:
            branches.append(f"{spelled} ({longer})?" if longer else spelled)
        elif longer:
            branches.append(f"{spelled} {longer}")
    return f"{name} ::= " + " |\n  ".join(_filled(branches))


def _letter(char: str, any_case: bool) -> str:
    return f"[{char.upper()}{char}]" if any_case and char.isalpha() else f'"{char}"'


def _longer(beginning: str, words: Collection[str], any_case: bool, longest: int | None) -> str:
    """Continuations of this beginning that no reserved word has; empty where a text would be too long."""
    others = _others(beginning, words, any_case)
    if longest is None:
        return f"{others} more*"
    left = longest - len(beginning) - 1
    return "" if left < 0 else others if left == 0 else f"{others} more{{0,{left}}}"


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
    """Lines with as many branches as there is room for; the first by itself."""
    lines = branches[:2]
    for branch in branches[2:]:
        if len(lines[-1]) + len(branch) + 5 > WIDTH:
            lines.append(branch)
        else:
            lines[-1] += " | " + branch
    return lines
