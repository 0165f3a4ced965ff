"""Language of what a peer allows, for the decoder: masks without distances.

The budget plays no part: whatever the peer lets through is viable, and where tokens run out the text is cut. So its
answers may be incomplete, and are told to be. Nothing is promoted, jumped over, or rescued by a witness.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configurations.interner import DEAD
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.evaluation.peers.errors import PeerFailed
from server.evaluation.peers.following import Following, Guide, Masked, Tested
from server.evaluation.peers.guide import Cost


class PeerLanguage:
    """Language of one answer under way, whose configurations are texts' tokens, interned; a context that closes its
    guide.

    Whatever asks the peer raises PeerFailed.
    """

    def __init__(self, vocabulary: Vocabulary, guide: Guide) -> None:
        self.vocabulary = vocabulary
        self.start = 0
        self._guide = guide
        # By configuration: the one before, and the token after it.
        self._steps: list[tuple[int, int]] = [(DEAD, DEAD)]
        self._numbers: dict[tuple[int, int], int] = {}
        self._following: dict[int, Following] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._guide.close()

    @property
    def cost(self) -> Cost:
        """Cost of the language in the peer so far."""
        return self._guide.cost

    def text(self, configuration: int) -> tuple[int, ...]:
        """The tokens that lead to a configuration."""
        tokens = []
        while configuration != self.start:
            configuration, token = self._steps[configuration]
            tokens.append(token)
        return tuple(reversed(tokens))

    def consume_batch(self, configurations: NDArray[np.int32], tokens: NDArray[np.int32]) -> NDArray[np.int32]:
        """int32[n] and int32[n, k] to int32[n, k]."""
        rows = zip(configurations.tolist(), tokens, strict=True)
        return np.array([self._after(configuration, row) for configuration, row in rows], np.int32)

    def take(self, configuration: int, token: int) -> int:
        return self._after(configuration, np.array([token], np.int32))[0]

    def moved(self, configurations: Sequence[int]) -> tuple[PeerLanguage, list[int]]:
        return self, list(configurations)

    def distances(self, configurations: NDArray[np.int32], tokens: int) -> NDArray[np.int32]:
        """0 for whatever is allowed: nobody knows how far its end is."""
        return np.where(configurations == DEAD, np.iinfo(np.int32).max, 0).astype(np.int32)

    def first_viable(self, configuration: int, ranking: NDArray[np.int32], tokens: int) -> int | None:
        after = self._after(configuration, ranking)
        return next((token for token, found in zip(ranking.tolist(), after, strict=True) if found != DEAD), None)

    def accepts(self, configuration: int) -> bool:
        """Whether the peer lets the text end."""
        return self._at(configuration).end

    def ends(self, configuration: int) -> bool:
        """Never by themselves: a peer's answers end by an end token. It would cost a mask of every text looked at."""
        return False

    def mask(self, configuration: int, budget: int | None = None) -> NDArray[np.bool_]:
        """bool[vocabulary size], end tokens included where the text may end."""
        mask = self._tokens(configuration)
        if self.accepts(configuration):
            mask[list(self.vocabulary.stop_ids)] = True
        elif not mask.any():
            raise PeerFailed("a dead end: no token may follow, and the text may not end")
        return mask

    def only_token(self, configuration: int, budget: int) -> int | None:
        return None

    def proposals(self, configuration: int) -> NDArray[np.int32]:
        return np.empty(0, np.int32)

    def distances_behind(self, configuration: int, after: NDArray[np.int32], tokens: int) -> NDArray[np.int32]:
        return self.distances(after, tokens)

    def witness(self, configuration: int, budget: int | None = None) -> tuple[int, ...]:
        """Raises the peer's failure: no witness is known, and who asks for one does so because the peer has failed, or
        knows no token.
        """
        if self._guide.failure is not None:
            raise self._guide.failure
        self.mask(configuration)
        return ()

    def _at(self, configuration: int) -> Following:
        if configuration not in self._following:
            text, size = self.text(configuration), self.vocabulary.size
            self._following[configuration] = (
                Tested(self._guide, text, size)
                if self._guide.tests
                else Masked(self._guide.mask(text), size, self.vocabulary.stop_ids)
            )
        return self._following[configuration]

    def _tokens(self, configuration: int) -> NDArray[np.bool_]:
        """Tokens of text that may follow, bool[vocabulary size]."""
        tokens: NDArray[np.bool_] = self._at(configuration).all() & (self.vocabulary.string_of >= 0)
        return tokens

    def _after(self, configuration: int, tokens: NDArray[np.int32]) -> list[int]:
        after = [DEAD] * len(tokens)
        if configuration == DEAD:
            return after
        text = np.flatnonzero(self.vocabulary.string_of[tokens] >= 0)
        allowed = text[self._at(configuration).has(tokens[text])]
        for place in allowed.tolist():
            after[place] = self._number(configuration, int(tokens[place]))
        return after

    def _number(self, configuration: int, token: int) -> int:
        number = self._numbers.setdefault((configuration, token), len(self._steps))
        if number == len(self._steps):
            self._steps.append((configuration, token))
        return number
