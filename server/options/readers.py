"""Readers of options: a text becomes a value, or an error that says which texts are allowed."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from math import isfinite

MOST_SECONDS = 86400.0
HIDDEN = "(hidden)"
_USER = re.compile(r"(://[^:@/]*):.*@", re.DOTALL)
_OPTION = re.compile(r"([?&]\w*password=)[^&#]*", re.IGNORECASE)
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


class NotAllowed(ArgumentTypeError, ValueError):
    """Text that an option can't have: the one error that `argparse` and pydantic both tell in its own words."""


def text(found: str) -> str:
    """A text as it is."""
    return found


def positive(found: str) -> int:
    """A whole number of at least 1."""
    if not found.isdecimal() or int(found) < 1:
        raise NotAllowed(f"{found!r} is not a positive whole number")
    return int(found)


def whole(found: str) -> int:
    """A whole number of at least 0."""
    if not found.isdecimal():
        raise NotAllowed(f"{found!r} is not a whole number, 0 or more")
    return int(found)


def mebibytes(found: str) -> int:
    """Bytes, of a text that says how many MiB they are."""
    return whole(found) << 20


def amount(found: str) -> float:
    """A number above 0."""
    value = _number(found)
    if value <= 0:
        raise NotAllowed(f"{found!r} is not a number above 0")
    return value


def seconds(found: str) -> float:
    """A number of seconds of at least 0, fractions included."""
    value = _number(found)
    if not 0 <= value <= MOST_SECONDS:
        raise NotAllowed(f"{found!r} is not a number of seconds from 0 to {MOST_SECONDS:g}")
    return value


def _number(found: str) -> float:
    """Number that a text says, or -1 where that is no finite number."""
    try:
        value = float(found)
    except ValueError:
        return -1.0
    return value if isfinite(value) else -1.0


def port(found: str) -> int:
    """A TCP port; 0 is any free one."""
    if not found.isdecimal() or int(found) > 65535:
        raise NotAllowed(f"{found!r} is not a port from 0 to 65535")
    return int(found)


def switch(found: str) -> bool:
    """Whether something is on."""
    if found.lower() not in (*_TRUE, *_FALSE):
        raise NotAllowed(f"{found!r} is neither true nor false")
    return found.lower() in _TRUE


def one_of(names: Collection[str]) -> Callable[[str], str]:
    """Reader of one of these names."""

    def read(found: str) -> str:
        if found not in names:
            close = get_close_matches(found, names, n=1)
            meant = f"; did you mean {close[0]}?" if close else ""
            raise NotAllowed(f"{found!r} is none of {', '.join(names)}{meant}")
        return found

    return read


def perhaps(name: str, known: Iterable[str]) -> str:
    """The end of a sentence that there is no such name: which one was perhaps meant, or else which there are."""
    listed = sorted(known)
    close = get_close_matches(name, listed, n=1)
    return f"; did you mean {close[0]}?" if close else f"; there are {', '.join(listed) or 'none'}"


def without_password(address: str) -> str:
    """An address whose password is hidden, before its host or among its options. What is unclear is hidden too."""
    return _OPTION.sub(rf"\g<1>{HIDDEN}", _USER.sub(rf"\g<1>:{HIDDEN}@", address))
