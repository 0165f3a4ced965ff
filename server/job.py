"""Job: a request that will be answered. Knows what was asked, and nothing of how it is answered."""

from __future__ import annotations

from dataclasses import dataclass

from server.backends.backend import Work
from server.decoding.parameters import Parameters
from server.grammars.compiled import Certified
from server.tools.calling import Calling


@dataclass(frozen=True, slots=True)
class Job:
    """A request that will be answered: everything that could be refused has been looked at.

    `answers` are wanted, of one work or of one work each; all works have the same prompt and budget. `refuses`: an
    answer that the budget may have changed is an error.
    """

    id: str
    created: int
    answers: int
    works: tuple[Work, ...]
    certified: Certified | None
    refuses: bool = False
    ignored: tuple[str, ...] = ()
    """Fields of the request that were let through, though nobody knows them."""
    calling: Calling | None = None
    """Calls that an answer may hold; None: all of it is text."""

    @property
    def prompt(self) -> tuple[int, ...]:
        return self.works[0].prompt

    @property
    def parameters(self) -> Parameters:
        """Parameters of the first answer; others have other seeds."""
        return self.works[0].parameters
