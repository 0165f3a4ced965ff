"""One text prefix under way, with what the search needs to know of it."""

from __future__ import annotations

from typing import NamedTuple


class Scores(NamedTuple):
    """Sums of log-probabilities over a prefix's tokens, none above 0.

    `guided` (eq. 17) orders beams; `viable`, the same without promotion, breaks ties. `model` is the model's own over
    its whole vocabulary (eq. 8), kept only if `Parameters.needs_model_scores`. Tokens jumped over add nothing.
    """

    guided: float = 0.0
    viable: float = 0.0
    model: float = 0.0

    def plus(self, more: Scores) -> Scores:
        return Scores(self.guided + more.guided, self.viable + more.viable, self.model + more.model)


NOTHING_SCORED = Scores()


class Beam(NamedTuple):
    """`row` is the engine's row that holds this prefix but for its last tokens `unfed`. `ended`: no token may follow. A
    text ends by an end token (`stopped`), at a stop text (`halted`), or because nothing can follow. `forced`: places
    of the tokens that the budget chose, that of an end token behind the others. `greedy`: this is what one beam alone
    has come to, and keeps a place.
    """

    configuration: int
    tokens: tuple[int, ...] = ()
    text: bytes = b""
    scores: Scores = NOTHING_SCORED
    row: int = 0
    unfed: tuple[int, ...] = ()
    ended: bool = False
    stopped: bool = False
    halted: bool = False
    forced: tuple[int, ...] = ()
    greedy: bool = False

    @property
    def used(self) -> int:
        """Tokens spent, the end token included."""
        return len(self.tokens) + self.stopped

    @property
    def told(self) -> bytes:
        """Text by which beams are told apart: that of an ended one as clients read it, to whom bytes that are no UTF-8,
        as of a code point that was cut, all look alike.
        """
        return self.text.decode(errors="replace").encode() if self.ended else self.text

    def stop(self, scores: Scores, *, forced: bool) -> Beam:
        """Beam with this text, ended by an end token."""
        return self._replace(scores=scores, ended=True, stopped=True, forced=self._forced(forced))

    def extend(
        self,
        token: int,
        data: bytes,
        configuration: int,
        *,
        scores: Scores,
        over: bool,
        forced: bool,
        stops: tuple[bytes, ...],
    ) -> Beam:
        """Beam with this text and one more token with its bytes; ended if it is `over`, or a stop text is met."""
        text = self.text + data
        halt = first_stop(text, len(self.text), stops) if stops else None
        return Beam(
            configuration=configuration,
            tokens=(*self.tokens, token),
            text=text[:halt],
            scores=scores,
            row=self.row,
            unfed=(*self.unfed, token),
            ended=over or halt is not None,
            halted=halt is not None,
            forced=self._forced(forced),
            greedy=self.greedy,
        )

    def miss_jump(self) -> Beam:
        """Beam with this text, whose next token would be another one without a budget."""
        return self._replace(forced=self._forced(True))

    def _forced(self, forced: bool) -> tuple[int, ...]:
        at = len(self.tokens)
        return (*self.forced, at) if forced and self.forced[-1:] != (at,) else self.forced


def first_stop(text: bytes, known: int, stops: tuple[bytes, ...]) -> int | None:
    """Offset at which the first stop text begins, given that the first `known` bytes hold none."""
    places = [text.find(stop, max(0, known - len(stop) + 1)) for stop in stops]
    return min((place for place in places if place >= 0), default=None)


def held_back(text: bytes, stops: tuple[bytes, ...]) -> int:
    """The length of the longest end of a text that may be the beginning of a stop text."""
    return max((_begun(text, stop) for stop in stops), default=0)


def _begun(text: bytes, stop: bytes) -> int:
    return next((n for n in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:n])), 0)


def whole_code_points(data: bytes) -> bytes:
    """The longest prefix that doesn't end inside a code point of UTF-8."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            needed = 2 + (byte >= 0xE0) + (byte >= 0xF0)
            return data[:-back] if needed > back else data
        if byte < 0x80:
            break
    return data
