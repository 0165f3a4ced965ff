"""One text prefix under way, with what the search needs to know of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from server.decoding.language import Language


@dataclass(frozen=True, slots=True)
class Beam:
    """`score` is the sum of guided log-probabilities (eq. 17), `raw` that of the unguided ones, which breaks ties.

    `row` is the engine's row that holds this prefix but for its last tokens `unfed`. `ended`: no token may follow,
    by an end token (`stopped`) or because nothing can. `forced` counts tokens that the budget chose.
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
    ) -> Beam:
        """This text and one more token; ended if nothing may follow or no token is left."""
        data = language.vocabulary.token_bytes[token]
        assert data is not None, "a token without bytes leads nowhere"
        used = len(self.tokens) + 1
        return Beam(
            configuration=configuration,
            tokens=(*self.tokens, token),
            text=self.text + data,
            score=score,
            raw=raw,
            row=self.row,
            unfed=(*self.unfed, token),
            ended=used >= budget or language.ends(configuration),
            forced=self.forced + forced,
        )
