"""Special tokens in what a chat says stay text: they are marked before the template renders it. Knows strings only.

A client that writes the end of a turn into a message would otherwise end the turn, and speak for the system.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, groupby

_PRIVATE = (range(0xE000, 0xF900), range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE))
"""Characters for private use."""


class SpecialText:
    """Special tokens of one tokenizer, as they may stand in texts."""

    def __init__(self, special: Collection[str]) -> None:
        self._special = re.compile(_any_of([token for token in special if token]) or "(?!)")

    def marking(self, template: str, values: object) -> Marking:
        """Marking of one chat; `values` is everything that a client says, as JSON values.

        Raises ValueError where no character is left to mark with.
        """
        texts = [template, *_strings(values)]
        if not any(self._special.search(text) for text in texts[1:]):
            return Marking(self._special, "", "")
        used = set().union(*texts)
        free = (character for character in map(chr, chain(*_PRIVATE)) if character not in used)
        opening, closing = next(free, ""), next(free, "")
        if not closing:
            raise ValueError("the messages hold special tokens, and every character for private use")
        return Marking(self._special, opening, closing)


class Marking:
    """Marks around special tokens in the strings of one chat. Template and chat don't hold the marks themselves."""

    def __init__(self, special: re.Pattern[str], opening: str, closing: str) -> None:
        """Marking with two characters, or with empty ones where there is nothing to mark."""
        self._special, self._open, self._close = special, opening, closing
        self._parts = re.compile(f"([{opening}{closing}])" if opening else "((?!))")

    def marked(self, value: object) -> object:
        """The value with marks around the special tokens of its strings, names of members too."""
        if not self._open:
            return value
        if isinstance(value, str):
            return self._special.sub(lambda found: f"{self._open}{found[0]}{self._close}", value)
        if isinstance(value, Mapping):
            return {self.marked(name): self.marked(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.marked(inner) for inner in value]
        return value

    def pieces(self, rendered: str) -> Iterator[tuple[str, bool]]:
        """The text without marks in pieces, and of each whether special tokens in it are text."""
        before, marks = "", self._parts.split(rendered)
        for at in range(0, len(marks), 2):
            after = marks[at + 1] if at + 1 < len(marks) else ""
            if marks[at]:
                yield marks[at], bool(before) and (before, after) == (self._open, self._close)
            before = after


def _strings(value: object) -> Iterable[str]:
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, Mapping):
            todo += each.keys()
            todo += each.values()
        elif isinstance(each, list | tuple):
            todo += each


def _any_of(tokens: Iterable[str]) -> str:
    """Pattern of these texts, the longest first, which takes a time that doesn't grow with their number."""
    rest = sorted(set(tokens))
    ends = "" in rest
    heads = [
        re.escape(head) + _any_of(token[1:] for token in group)
        for head, group in groupby(filter(None, rest), key=lambda token: token[0])
    ]
    if not heads:
        return ""
    pattern = heads[0] if len(heads) == 1 and not ends else f"(?:{'|'.join(heads)})"
    return f"{pattern}?" if ends else pattern
