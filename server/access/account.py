"""Account of a key: what it has used of its limits, and what it may use now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from server.access.keys import Key
from server.access.pace import Pace
from server.access.token_bucket import TokenBucket
from server.protocol.errors import ApiError, ErrorCode


class Account:
    """Account of one key, kept by its name while its limits change. One event loop uses it."""

    def __init__(self, key: Key, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self.key = key
        self._requests = _bucket(key.limits.requests_per_minute, None, clock)
        self._tokens = _bucket(key.limits.tokens_per_minute, None, clock)
        self._pace = Pace(clock)
        self.answers = 0

    def follow(self, key: Key) -> None:
        """Goes on with the limits that the key has now. What was used of one that is as before stays used."""
        self.key = key
        self._requests = _bucket(key.limits.requests_per_minute, self._requests, self._clock)
        self._tokens = _bucket(key.limits.tokens_per_minute, self._tokens, self._clock)

    def check_request(self) -> None:
        """Raises ApiError, with the time after which a request is taken, unless one is taken now."""
        bucket = self._requests
        if bucket is not None and (seconds := bucket.wait(1)) > 0:
            raise _limited("requests_per_minute", f"{bucket.per_minute} requests a minute", seconds)

    def take_request(self) -> None:
        """Counts a request. Raises ApiError."""
        self.check_request()
        if self._requests is not None:
            self._requests.take(1)

    @contextmanager
    def places(self, answers: int) -> Iterator[None]:
        """Holds places for so many answers. Raises ApiError."""
        most = self.key.limits.concurrency
        if most is not None and answers > most:
            raise _never(
                "concurrency", f"{answers} answers are more than the {most} that this key may have at a time", "n"
            )
        if most is not None and self.answers + answers > most:
            wait = self._pace.wait(self.answers + answers - most)
            raise _limited("concurrency", f"{most} answers at a time", wait)
        self.answers += answers
        try:
            yield
        finally:
            self.answers -= answers
            self._pace.freed(answers)

    @contextmanager
    def tokens(self, most: int, used: Callable[[], int]) -> Iterator[None]:
        """Charges for up to so many tokens, and gives back at the end what was not `used`. Raises ApiError."""
        bucket = self._tokens
        if bucket is None:
            yield
            return
        if most > bucket.per_minute:
            message = (
                f"prompts and budgets of {most} tokens are more than the {bucket.per_minute} that this key has a minute"
            )
            raise _never("tokens_per_minute", f"{message}: ask for fewer by max_tokens or n", "max_tokens")
        if (seconds := bucket.wait(most)) > 0:
            # The request has been counted, and comes again as another one.
            again = seconds if self._requests is None else max(seconds, self._requests.wait(1))
            raise _limited("tokens_per_minute", f"{bucket.per_minute} tokens a minute", again)
        bucket.take(most)
        try:
            yield
        finally:
            bucket.give_back(most - used())


def _bucket(per_minute: int | None, before: TokenBucket | None, clock: Callable[[], float]) -> TokenBucket | None:
    if per_minute is None:
        return None
    return before if before is not None and before.per_minute == per_minute else TokenBucket(per_minute, clock)


def _limited(limit: str, what: str, seconds: float) -> ApiError:
    message = f"this key has {what}: try again in {seconds:.1f} seconds"
    return ApiError(ErrorCode.RATE_LIMIT_EXCEEDED, message, details={"limit": limit}, retry_after=seconds)


def _never(limit: str, message: str, param: str) -> ApiError:
    return ApiError(ErrorCode.ITEMS_EXCEEDED, message, param=param, details={"limit": limit})
