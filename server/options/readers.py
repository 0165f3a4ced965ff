"""Readers of options: a text becomes a value, or an error that says which texts are allowed."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from urllib.parse import urlsplit

MOST = (1 << 31) - 1
"""Bound of counts: whatever is counted, more of it is a slip of the finger."""
MOST_SECONDS = 86400.0
"""Bound of times, a day."""
HIDDEN = "(hidden)"
_USER = re.compile(r"(://[^:@/]*):.*@", re.DOTALL)
_OPTION = re.compile(r"([?&]\w*password=)[^&#]*", re.IGNORECASE)
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


class NotAllowed(ArgumentTypeError, ValueError):
    """Text that an option can't have: the one error that `argparse` and pydantic both tell in its own words."""


def text(found: str) -> str:
    """A text that isn't empty."""
    if not found:
        raise NotAllowed("the value is empty")
    return utf8(found)


def utf8(found: str) -> str:
    """A text as it is, which may be empty. Errors don't quote bytes that are none: some are secret."""
    try:
        found.encode()
    except UnicodeEncodeError:
        raise NotAllowed("the value is not UTF-8") from None
    return found


def key_value(found: str) -> str:
    """Value of a key, as a header can carry it. Errors don't quote it."""
    if not text(found).isprintable() or found != found.strip():
        raise NotAllowed("the value has white space at an end, or characters that no header can carry")
    return found


def path(found: str) -> Path:
    """Path of a file or a folder, whose name may be any bytes."""
    if not found:
        raise NotAllowed("the value is empty")
    return Path(found)


def positive(found: str) -> int:
    """A whole number of at least 1."""
    if not _is_count(found) or int(found) < 1:
        raise NotAllowed(f"{found!r} is not a positive whole number, {MOST} at most")
    return int(found)


def whole(found: str) -> int:
    """A whole number of at least 0."""
    if not _is_count(found):
        raise NotAllowed(f"{found!r} is not a whole number from 0 to {MOST}")
    return int(found)


def _is_count(found: str) -> bool:
    """Whether a text is a number that isn't absurd. Very long ones aren't read: Python refuses to."""
    return found.isdecimal() and len(found) <= 2 * len(str(MOST)) and int(found) <= MOST


def mebibytes(found: str) -> int:
    """Bytes, of a text that says how many MiB they are."""
    return whole(found) << 20


def wait(found: str) -> float:
    """A number of seconds above 0, fractions included, and no longer than threads can wait."""
    value = _number(found)
    if not 0 < value <= MOST_SECONDS:
        raise NotAllowed(f"{found!r} is not a number of seconds above 0, {MOST_SECONDS:g} at most")
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
    if not _is_count(found) or int(found) > 65535:
        raise NotAllowed(f"{found!r} is not a port from 0 to 65535")
    return int(found)


def web_address(found: str) -> str:
    """URL of a web server. Errors don't quote it: it may hold a password."""
    scheme, host = _parts(found)
    if scheme not in ("http", "https") or not host:
        raise NotAllowed("the value is no URL that begins with http:// or https:// and a host")
    return found


def origin(found: str) -> str:
    """Origin of web pages as browsers name it, or `*` for all."""
    scheme, host = _parts(found)
    if found != "*" and (not scheme or not host or "@" in host or found != f"{scheme}://{host}"):
        raise NotAllowed(
            f"{found!r} is no origin: a scheme, a host and perhaps a port, as in https://example.org, or *"
        )
    return found


def _parts(address: str) -> tuple[str, str]:
    """Scheme and host of a URL, the port with it; none of what is no URL."""
    try:
        parts = urlsplit(address)
        right = parts.port != 0 and parts.hostname and not re.search(r"\s", address)
    except ValueError:
        return "", ""
    return (parts.scheme, parts.netloc) if right else ("", "")


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
