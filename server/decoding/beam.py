"""One text prefix under way, with what the search needs to know of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from server.decoding.language import Language


@dataclass(frozen=True, slots=True)
class Beam:
    """`score` is the sum of guided log-probabilities (eq. 17), `raw` that of the unguided ones, which breaks ties.

    `row` is the engine's row that holds this prefix but for its last tokens `unfed`. `ended`: no token may follow,
    by an end token (`stopped`), at a stop text (`halted`), or because nothing can. `forced` counts tokens that the
    budget chose.
    """

    configuration: int
    tokens: tuple[int, ...] = ()
    text: bytes = b""
    score: float = 0.0
    raw: float = 0.0
    row: int = 0
    unfed: tuple[int, ...] = ()
    ended: bool = False
    stopped: bool = False
    halted: bool = False
    forced: int = 0

    @property
    def used(self) -> int:
        """Tokens spent, the end token included."""
        return len(self.tokens) + self.stopped

    def stop(self, score: float, raw: float, *, forced: bool) -> Beam:
        """This text, ended by an end token."""
        return replace(self, score=score, raw=raw, ended=True, stopped=True, forced=self.forced + forced)

    def extend(
        self,
        token: int,
        configuration: int,
        language: Language,
        budget: int,
        *,
        score: float,
        raw: float,
        forced: bool,
        stops: tuple[bytes, ...],
    ) -> Beam:
        """This text and one more token; ended if nothing may follow, no token is left, or a stop text is met."""
        data = language.vocabulary.token_bytes[token]
        assert data is not None, "a token without bytes leads nowhere"
        text = self.text + data
        halt = _first_stop(text, len(self.text), stops)
        ended = halt is not None or len(self.tokens) + 1 >= budget or language.ends(configuration)
        return Beam(
            configuration=configuration,
            tokens=(*self.tokens, token),
            text=text[:halt],
            score=score,
            raw=raw,
            row=self.row,
            unfed=(*self.unfed, token),
            ended=ended,
            halted=halt is not None,
            forced=self.forced + forced,
        )


def _first_stop(text: bytes, known: int, stops: tuple[bytes, ...]) -> int | None:
    """Where the first stop text begins, given that the first `known` bytes hold none."""
    places = [text.find(stop, max(0, known - len(stop) + 1)) for stop in stops]
    return min((place for place in places if place >= 0), default=None)


def held_back(text: bytes, stops: tuple[bytes, ...]) -> int:
    """The length of the longest end of a text that may be the beginning of a stop text."""
    longest = max((len(stop) - 1 for stop in stops), default=0)
    ends = range(min(longest, len(text)), 0, -1)
    return next((n for n in ends if any(stop.startswith(text[-n:]) for stop in stops)), 0)
