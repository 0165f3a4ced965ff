"""Calls of a store that nobody waits for longer than agreed: what fails or is late is answered by "nothing there".

A thread of the guard's makes the call, so that even a name that isn't resolved, or a disk that hangs, holds up no
caller; sockets and locks have time limits of their own, after which that thread is free again. Reading, leases and
writing fail apart: a server that is full, or only a replica, can still be read, and a lease that isn't granted in time
for who waits for it doesn't say that nothing can be written.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import TypeVar

from grammar_cache.store.breaker import Breaker
from grammar_cache.store.contract import Store, StoreError, StoreReadOnly, StoreTimeout
from grammar_cache.store.counters import Counters

T = TypeVar("T")

THREADS = 16
"""Calls at a time. Others wait for a thread, within their own time. Fewer would make slow what is only far away."""


class Guard:
    """Guard of one store, which it closes with itself. Any thread."""

    def __init__(self, store: Store, counters: Counters) -> None:
        self._store = store
        self._counters = counters
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="swyb-store")
        self._closed = False
        self.reading = Breaker("reading from the store")
        self.leasing = Breaker("leases of the store")
        self.writing = Breaker("writing to the store")

    def read(self, call: Callable[[Store], T], seconds: float, otherwise: T) -> T:
        """Result of a call that reads, within that time, or `otherwise`."""
        return self._ask_or(self.reading, call, seconds, otherwise)

    def lease(self, call: Callable[[Store], T], seconds: float, otherwise: T) -> T:
        """Result of a call for leases, within that time, or `otherwise`. Raises StoreReadOnly."""
        return self._ask_or(self.leasing, call, seconds, otherwise)

    def write(self, call: Callable[[Store], T], seconds: float, otherwise: T) -> T:
        """Result of a call that changes something, within that time, or `otherwise`. Raises StoreReadOnly."""
        return self._ask_or(self.writing, call, seconds, otherwise)

    def ask(self, breaker: Breaker, call: Callable[[Store], T], seconds: float) -> T:
        """Result of a call, within that time, for who wants to know why there is none. `breaker`: one of the guard's.

        Raises StoreError, with the store's own words.
        """
        if self._closed or not breaker.admits():
            self._counters.count("skipped")
            raise StoreError("the store has failed, and is left alone for a while")
        self._counters.count("calls")
        try:
            asked = self._begun(call)
            answer = asked.result(seconds)
        except CancelledError as error:
            breaker.learned_nothing()
            raise StoreError("the store was closed meanwhile") from error
        except (TimeoutError, StoreTimeout) as error:
            asked.cancel()
            self._counters.count("timeouts")
            late = StoreTimeout(str(error) or f"no answer within {1000 * seconds:.0f} ms")
            breaker.failed(late)
            raise late from error
        except StoreReadOnly:
            breaker.succeeded()
            raise
        except StoreError as error:
            self._counters.count("errors")
            breaker.failed(error)
            raise
        except BaseException:  # an error of ours tells nothing of the store
            breaker.learned_nothing()
            raise
        breaker.succeeded()
        return answer

    def close(self) -> None:
        """Calls that are on their way end by themselves; later ones are skipped."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._store.close()

    def _begun(self, call: Callable[[Store], T]) -> Future[T]:
        """Raises CancelledError where the guard is closed meanwhile, as the future does."""
        try:
            return self._threads.submit(call, self._store)
        except RuntimeError as error:
            if not self._closed:
                raise
            raise CancelledError from error

    def _ask_or(self, breaker: Breaker, call: Callable[[Store], T], seconds: float, otherwise: T) -> T:
        try:
            return self.ask(breaker, call, seconds)
        except StoreReadOnly:
            raise
        except StoreError:  # the breaker has learned of it
            return otherwise
