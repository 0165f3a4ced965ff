"""The server's reader of calls, checked: whether a text that comes in pieces is read as when it is whole."""

from __future__ import annotations

from collections.abc import Sequence

from server.tools.calling import Calling
from server.tools.calls import Call, CallPiece, CallReader, CallStart, Parts, TextPiece, parts_of


def streamed(pieces: Sequence[str], calling: Calling) -> Parts:
    """Text and calls of pieces, joined as a client does. Raises ValueError for a text that has left its grammar."""
    reader = CallReader(calling)
    events = [event for piece in pieces for event in reader.read(piece, last=False)]
    said: list[str] = []
    called: list[tuple[CallStart, list[str]]] = []
    for event in (*events, *reader.read("", last=True)):
        match event:
            case TextPiece(text=text):
                said.append(text)
            case CallStart():
                called.append((event, []))
            case CallPiece(text=text):
                called[-1][1].append(text)
    calls = tuple(Call(start.name, "".join(given), start.takes_text) for start, given in called)
    return Parts("".join(said), calls)


def reads_alike(text: str, calling: Calling) -> bool:
    """Whether every way to cut the text in two, and all its characters one by one, are read as the whole."""
    whole = parts_of(text, calling)
    cuts = [[text[:at], text[at:]] for at in range(len(text) + 1)]
    return all(streamed(pieces, calling) == whole for pieces in (*cuts, list(text)))
