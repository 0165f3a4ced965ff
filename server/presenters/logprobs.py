"""Log-probabilities in OpenAI's shapes: those of chats, and those of completions."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Sequence
from typing import Any

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.logprobs import TokenLogprobs
from server.job import Job
from server.protocol.completion import ChoiceLogprobs, Likelihood, TokenLikelihood, Viability
from server.protocol.completions.response import TextLogprobs


def chat_logprobs(told: Sequence[TokenLogprobs], job: Job, vocabulary: Vocabulary) -> ChoiceLogprobs | None:
    """Log-probabilities of a chat's tokens; None where nobody asked for them."""
    if job.parameters.logprobs is None:
        return None

    def likelihood(token: int, logprob: float) -> dict[str, Any]:
        data = vocabulary.text_of(token)
        return {"token": data.decode(errors="replace"), "logprob": logprob, "bytes": list(data)}

    return ChoiceLogprobs(
        content=[
            TokenLikelihood(
                **likelihood(one.token, one.logprob),
                top_logprobs=[Likelihood(**likelihood(*other)) for other in one.top],
                swyb=Viability(logprob=one.viable, forced=one.forced),
            )
            for one in told
        ]
    )


class CompletionLogprobs:
    """Log-probabilities of a completion's tokens, as they come: each knows where in the text it begins."""

    def __init__(self, job: Job, vocabulary: Vocabulary) -> None:
        self._asked = job.parameters.logprobs is not None
        self._vocabulary = vocabulary
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._characters = 0

    def of(self, told: Sequence[TokenLogprobs]) -> TextLogprobs | None:
        """Log-probabilities of the next tokens; None where nobody asked for them."""
        if not self._asked:
            return None
        offsets = []
        for one in told:
            data = self._vocabulary.text_of(one.token)
            offsets.append(self._characters + self._left_before(data))
            self._characters += len(self._decoder.decode(data))
        return TextLogprobs(
            tokens=[self._text(one.token) for one in told],
            token_logprobs=[one.logprob for one in told],
            top_logprobs=[{self._text(token): logprob for token, logprob in reversed(one.top)} for one in told],
            text_offset=offsets,
        )

    def _left_before(self, data: bytes) -> int:
        """Number of characters that stand for bytes which were begun, and which these bytes don't go on with."""
        begun, _ = self._decoder.getstate()
        try:
            getincrementaldecoder("utf-8")().decode(begun + data[:1])
        except UnicodeDecodeError:
            return len(begun.decode(errors="replace"))
        return 0

    def _text(self, token: int) -> str:
        return self._vocabulary.text_of(token).decode(errors="replace")
