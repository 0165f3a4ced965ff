"""Opening of the assistant's turn: whether a thought follows, and the text that its template leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from server.engines.contract import ChatModel
from server.engines.thought_marks import USUAL, ThoughtMarks
from server.protocol.chat import ChatRequest
from server.protocol.errors import ApiError, ErrorCode

TAIL = 32
"""Tokens at the end of a prompt that a mark may take."""


@dataclass(frozen=True, slots=True)
class Closer:
    """Closer of a thought: `tokens` from its last word to the answer's first, at least one.

    `text` is the mark by which the model closes its thought itself, unless it does by one of the tokens `stop_ids`.
    """

    tokens: tuple[int, ...]
    text: bytes
    stop_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Opening:
    """`tokens` to append to the prompt; `closer`: that of the thought which follows, if there is one."""

    tokens: tuple[int, ...] = ()
    closer: Closer | None = None


def opening_of(request: ChatRequest, model: ChatModel, prompt: Sequence[int], *, opens_a_turn: bool) -> Opening:
    """Opening behind a prompt, as the request and the model's template have it. Raises ApiError."""
    wish, marks = request.wish, _marks(request, model)
    if not opens_a_turn:
        if wish.wanted:
            message = f"{wish.field}: a thought needs a new turn, and here the last one goes on"
            raise ApiError(ErrorCode.CONFLICTING_PARAMETERS, message, param=wish.field)
        return Opening()
    if wish.wanted is None and model.template.thinking is None:
        return Opening()
    opened = marks.opened_in(_tail(model, prompt))
    if wish.wanted is False:
        # A template without a switch has opened the thought: closed at once, it is none.
        rest = marks.closer if opened else marks.skip if opened is None and model.template.thinking else ""
        return Opening(_tokens(model, rest))
    if opened:
        return Opening((), closer_of(marks, model))
    if opened is None and (wish.wanted or _thinks(model)):
        return Opening(_tokens(model, marks.begin), closer_of(marks, model))
    if wish.wanted:
        message = f"{wish.field}: the model's chat template closes the thought of this turn; leave it out"
        raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, message, param=wish.field)
    return Opening()


def closer_of(marks: ThoughtMarks, model: ChatModel) -> Closer:
    """Closer of a thought between marks. Raises ValueError where the model has no tokens for it."""
    tokens = _tokens(model, marks.closer)
    if not tokens:
        raise ValueError("the model has no tokens that close a thought")
    end = marks.end.strip()
    name = model.vocabulary.text_of(tokens[0], named=True).decode(errors="replace")
    special = model.vocabulary.token_bytes[tokens[0]] is None and bool(name) and end.startswith(name)
    return Closer(tokens, end.encode(), tokens[:1] if special else ())


def _marks(request: ChatRequest, model: ChatModel) -> ThoughtMarks:
    options = request.swyb.thinking if request.swyb else None
    marks = model.template.thinking.marks if model.template.thinking else USUAL
    if options is not None and options.begin is not None:
        marks = replace(marks, begin=options.begin)
    if options is not None and options.end is not None:
        marks = replace(marks, end=options.end, between="")
    return marks


def _thinks(model: ChatModel) -> bool:
    return model.template.thinking is not None and model.template.thinking.by_default


def _tokens(model: ChatModel, text: str) -> tuple[int, ...]:
    return tuple(model.split(text)) if text else ()


def _tail(model: ChatModel, prompt: Sequence[int]) -> str:
    """Text of a prompt's last tokens, special ones by their names."""
    return model.vocabulary.text(prompt[-TAIL:], named=True).decode(errors="replace")
