"""Text of an answer whose bytes come in pieces."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Sequence
from dataclasses import dataclass

from server.backends.backend import Piece
from server.decoding.answer import Answer
from server.decoding.logprobs import TokenLogprobs
from server.protocol.completion import TraceNews
from server.thinking.thoughts import ThoughtPiece


class StreamedText:
    """Tells of each piece, and of the answer, what was not told before. Joined texts are `text_of` the answer."""

    def __init__(self) -> None:
        self._sent = 0
        self._told = 0
        # Incremental: replaced bytes come out the same as in the whole text, wherever it is cut.
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def of(self, event: ThoughtPiece | Piece | Answer) -> str:
        """Text of the answer; a thought has none."""
        if isinstance(event, ThoughtPiece):
            return ""
        last = isinstance(event, Answer)
        data = event.text[self._sent :] if last else event.text
        self._sent += len(data)
        return self._decoder.decode(data, last)

    def logprobs(self, event: ThoughtPiece | Piece | Answer) -> Sequence[TokenLogprobs]:
        """Log-probabilities of an event that were not told before; a thought has none."""
        if isinstance(event, ThoughtPiece):
            return ()
        found = event.logprobs[self._told :] if isinstance(event, Answer) else event.logprobs
        self._told += len(found)
        return found


class StreamedTrace:
    """Tells of each piece the steps of the search that came with it. `told`: how many there were."""

    def __init__(self) -> None:
        self.told = 0

    def of(self, event: ThoughtPiece | Piece | Answer) -> TraceNews | None:
        """News of the search; those that come with the answer stand in its certificate."""
        if not isinstance(event, Piece) or not event.trace:
            return None
        self.told += len(event.trace)
        return TraceNews(trace=list(event.trace))


@dataclass(frozen=True, slots=True)
class ThoughtText:
    """Further text of a thought; `last`: the answer follows."""

    text: str
    last: bool


class StreamedThought:
    """Tells of a thought, and of the answer behind it, what was not told before."""

    def __init__(self) -> None:
        self._begun = False
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def of(self, event: ThoughtPiece | Piece | Answer) -> ThoughtText | None:
        """News of the thought; that of an answer which shares another one's is told with the answer."""
        if isinstance(event, ThoughtPiece):
            self._begun = True
            return ThoughtText(self._decoder.decode(event.text, event.last), event.last)
        thought = None if self._begun or not isinstance(event, Answer) else thought_of(event)
        return None if thought is None else ThoughtText(thought, last=True)


def thought_of(answer: Answer) -> str | None:
    """The whole thought, if there is one to be told."""
    thought = answer.thought
    return thought.text.decode(errors="replace") if thought is not None and thought.told else None


def text_of(answer: Answer) -> str:
    """The whole text; bytes that are none are replaced."""
    return answer.text.decode(errors="replace")
