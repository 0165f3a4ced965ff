"""Calls in an answer, as its text comes: what is text, which tools are called, and what they are given.

Pieces may be cut anywhere: joined events are the same for every way to cut a text. The text belongs to the grammar of
`server.tools.grammar`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from server.tools.calling import Calling
from server.tools.json_end import JsonEnd
from server.tools.parameters import ParameterReader, as_written

_NAME = re.compile(r"[A-Za-z0-9_.:/-]+")


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Further part of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStart:
    """Beginning of the answer's call `index`. `takes_text`: what the tool is given is a text, not JSON."""

    index: int
    name: str
    takes_text: bool


@dataclass(frozen=True, slots=True)
class CallPiece:
    """Further part of what call `index`, the last one so far, gives its tool."""

    index: int
    text: str
    takes_text: bool


Event: TypeAlias = TextPiece | CallStart | CallPiece
_State: TypeAlias = Callable[[bool], Sequence[Event] | None]
"""Reading of what is there, told whether it is all; None: more is needed."""


@dataclass(frozen=True, slots=True)
class Call:
    """Call of a tool, with what it is given: a JSON object, or a text."""

    name: str
    given: str
    takes_text: bool


@dataclass(frozen=True, slots=True)
class Parts:
    """An answer's text, and its calls."""

    text: str
    calls: tuple[Call, ...]


class CallReader:
    """Reader of one answer. White space between a text and calls is part of neither."""

    def __init__(self, calling: Calling) -> None:
        self._form = calling.form
        self._text_tools = calling.text_tools
        self._schemas = {tool.name: tool.parameters for tool in calling.tools if tool.parameters is not None}
        self._rest = ""
        self._calls = 0
        self._end = JsonEnd()
        self._parameters: ParameterReader | None = None
        self._state: _State = self._text if calling.has_free_text else self._beginning

    def read(self, piece: str, *, last: bool) -> Iterator[Event]:
        """Events that the next piece brings. Raises ValueError for a text that has left its grammar."""
        self._rest += piece
        while (found := self._state(last)) is not None:
            yield from found
        if last and self._state not in (self._over, self._text, self._only_text):
            raise ValueError("the answer ends within a call")

    def _beginning(self, last: bool) -> Sequence[Event] | None:
        """Reads the beginning of an answer that is all calls, or all text."""
        trigger = self._form.trigger
        if len(self._rest) < len(trigger) and trigger.startswith(self._rest) and not last:
            return None
        self._state = self._text if self._rest.startswith(trigger) else self._only_text
        return ()

    def _only_text(self, last: bool) -> Sequence[Event] | None:
        return self._said(len(self._rest))

    def _text(self, last: bool) -> Sequence[Event] | None:
        """Reads text up to a trigger. White space and what may begin a trigger wait for what follows."""
        trigger = self._form.trigger
        at = self._rest.find(trigger)
        if at >= 0:
            text = self._rest[:at].rstrip()
            self._rest = self._rest[at:]
            self._state = self._lead
            return [TextPiece(text)] if text else ()
        if last:
            return self._said(len(self._rest))
        most = min(len(trigger) - 1, len(self._rest))
        begun = next((length for length in range(most, 0, -1) if trigger.startswith(self._rest[-length:])), 0)
        settled = self._rest[: len(self._rest) - begun].rstrip()
        return self._said(len(settled))

    def _lead(self, last: bool) -> Sequence[Event] | None:
        return self._passed(self._form.lead, self._name)

    def _name(self, last: bool) -> Sequence[Event] | None:
        found = _NAME.match(self._rest)
        if found is None or (found.end() == len(self._rest) and not last):
            return None
        self._rest = self._rest[found.end() :]
        takes_text = found[0] in self._text_tools
        self._state = self._text_middle if takes_text else self._middle
        if self._form.parameters is not None and not takes_text:
            self._parameters = ParameterReader(self._form.parameters, as_written(self._schemas.get(found[0], {})))
        self._calls += 1
        return [CallStart(self._calls - 1, found[0], takes_text)]

    def _middle(self, last: bool) -> Sequence[Event] | None:
        self._end = JsonEnd()
        return self._passed(self._form.middle, self._json if self._parameters is None else self._tags)

    def _tags(self, last: bool) -> Sequence[Event] | None:
        """Reads parameters that stand in tags."""
        assert self._parameters is not None, "the form has them"
        made, used, over = self._parameters.read(self._rest)
        self._rest = self._rest[used:]
        if over:
            self._state = self._behind
        return [CallPiece(self._calls - 1, made, takes_text=False)] if made else () if used or over else None

    def _json(self, last: bool) -> Sequence[Event] | None:
        at = self._end.find(self._rest)
        if at is None:
            return self._given(len(self._rest))
        found = self._given(at)
        self._state = self._behind
        return found

    def _behind(self, last: bool) -> Sequence[Event] | None:
        """Reads what stands behind a call: the way to the next one, or what ends them all."""
        if self._form.next.startswith(self._rest) and not last:
            return None
        if self._rest.startswith(self._form.next):
            return self._passed(self._form.next, self._name)
        if last or len(self._rest) >= len(self._form.last):
            return self._passed(self._form.last, self._over)
        return None

    def _text_middle(self, last: bool) -> Sequence[Event] | None:
        return self._passed(self._form.text_middle, self._given_text)

    def _given_text(self, last: bool) -> Sequence[Event] | None:
        """Reads a text that goes on to the end of the answer, but for what stands behind it."""
        end = self._form.text_end
        if last and not self._rest.endswith(end):
            raise ValueError(f"{end!r} was expected behind a call's text")
        found = self._given(max(0, len(self._rest) - len(end)))
        if last:
            self._rest, self._state = "", self._over
        return found or (() if last else None)

    def _over(self, last: bool) -> Sequence[Event] | None:
        if self._rest:
            raise ValueError(f"{self._rest!r} stands behind the last call")
        return None

    def _said(self, length: int) -> Sequence[Event] | None:
        """Takes so many characters of text; None where there are none."""
        return [TextPiece(self._taken(length))] if length else None

    def _given(self, length: int) -> Sequence[Event] | None:
        """Takes so many characters of what a call gives; None where there are none."""
        takes_text = self._state == self._given_text
        return [CallPiece(self._calls - 1, self._taken(length), takes_text)] if length else None

    def _taken(self, length: int) -> str:
        text, self._rest = self._rest[:length], self._rest[length:]
        return text

    def _passed(self, literal: str, state: _State) -> Sequence[Event] | None:
        """Goes on behind a literal, once it is there."""
        if not self._rest.startswith(literal):
            if not literal.startswith(self._rest):
                raise ValueError(f"{literal!r} was expected, and {self._rest[: len(literal)]!r} came")
            return None
        self._rest, self._state = self._rest[len(literal) :], state
        return ()


def parts_of(text: str, calling: Calling | None) -> Parts:
    """Text and calls of a whole answer; without a `calling` all is text."""
    if calling is None:
        return Parts(text, ())
    said: list[str] = []
    called: list[tuple[CallStart, list[str]]] = []
    for event in CallReader(calling).read(text, last=True):
        match event:
            case TextPiece(text=piece):
                said.append(piece)
            case CallStart():
                called.append((event, []))
            case CallPiece(text=piece):
                called[-1][1].append(piece)
    calls = tuple(Call(start.name, "".join(given), start.takes_text) for start, given in called)
    return Parts("".join(said), calls)
