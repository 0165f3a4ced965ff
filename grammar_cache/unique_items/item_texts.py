"""Texts of items, each as one integer: a text that is one byte longer than another one holds that byte alone."""

from __future__ import annotations

NO_TEXT = 0
"""Number of the empty text."""

BYTE_BYTES = 130
"""Bytes that a byte of a text takes, about."""


class ItemTexts:
    """Texts, numbered as they are met. Equal texts have equal numbers, whatever pieces they were read in."""

    def __init__(self) -> None:
        self._longer: dict[tuple[int, int], int] = {}
        self._shorter = [NO_TEXT]
        self._sizes = [0]
        self._first, self._last = bytearray(1), bytearray(1)

    def longer(self, number: int, data: bytes) -> int:
        """The text with some bytes behind it."""
        for byte in data:
            known = self._longer.get((number, byte))
            if known is None:
                known = self._longer[number, byte] = len(self._sizes)
                self._shorter.append(number)
                self._sizes.append(self._sizes[number] + 1)
                self._first.append(byte if number == NO_TEXT else self._first[number])
                self._last.append(byte)
            number = known
        return number

    def shorter(self, number: int) -> int:
        """The text without its last byte, of one that isn't empty."""
        return self._shorter[number]

    def size(self, number: int) -> int:
        """Number of bytes of a text."""
        return self._sizes[number]

    def first(self, number: int) -> int:
        """The first byte of a text that isn't empty."""
        return self._first[number]

    def last(self, number: int) -> int:
        """The last byte of a text that isn't empty."""
        return self._last[number]

    def text(self, number: int) -> bytes:
        """The text itself."""
        found = bytearray(self._sizes[number])
        for place in range(len(found) - 1, -1, -1):
            found[place] = self._last[number]
            number = self._shorter[number]
        return bytes(found)

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        return BYTE_BYTES * len(self._sizes)
