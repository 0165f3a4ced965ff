"""Text of an answer whose bytes come in pieces."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Sequence

from server.backends.backend import Piece
from server.decoding.answer import Answer
from server.decoding.logprobs import TokenLogprobs


class StreamedText:
    """Tells of each piece, and of the answer, what was not told before. Joined texts are `text_of` the answer."""

    def __init__(self) -> None:
        self._sent = 0
        self._told = 0
        # Incremental: replaced bytes come out the same as in the whole text, wherever it is cut.
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def of(self, event: Piece | Answer) -> str:
        last = isinstance(event, Answer)
        data = event.text[self._sent :] if last else event.text
        self._sent += len(data)
        return self._decoder.decode(data, last)

    def logprobs(self, event: Piece | Answer) -> Sequence[TokenLogprobs]:
        """Log-probabilities of an event that were not told before."""
        found = event.logprobs[self._told :] if isinstance(event, Answer) else event.logprobs
        self._told += len(found)
        return found


def text_of(answer: Answer) -> str:
    """The whole text; bytes that are none are replaced."""
    return answer.text.decode(errors="replace")
