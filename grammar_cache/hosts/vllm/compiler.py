"""Compiled grammars of a vLLM process: each constraint once, whichever thread asks first.

The engine core compiles nothing that the front end has compiled: a request brings its grammar as bytes, which are read
in a millisecond, and checked. With a store, each constraint is compiled once for all processes that share it.
"""

from __future__ import annotations

import gc
import logging
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from socket import gethostname
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

from grammar_cache.artefact.artefact import from_bytes, to_bytes
from grammar_cache.compile import compile_grammar, constraint_id
from grammar_cache.constraint import Constraint
from grammar_cache.distances.searched_distances import Minimum
from grammar_cache.errors import ArtefactError, GrammarError, LimitExceeded
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.vllm.settings import PluginSettings
from grammar_cache.limits import Limits
from grammar_cache.special_tokens import ESCAPE
from grammar_cache.store.opening import open_database
from grammar_cache.store.sharing import SharedGrammars
from grammar_cache.vocabulary.vocabulary import Vocabulary
from grammar_cache.warm_up import warm_up, warm_up_beside

log = logging.getLogger("vllm.swyb_budget")

Made = TypeVar("Made")

MOST_GRAMMARS = 256

MOST_CARRIED = 1 << 20
"""Bytes of the largest artefact that requests bring along: most have 10 to 200 thousand."""

STORE_SECONDS = 20.0
"""Seconds to wait for another process that is compiling the same."""


_OLD_COLLECTIONS = 1_000
"""Collections of younger garbage until Python looks through all objects, at least; 10 by its own setting.

A process that keeps 256 grammars has 200,000 objects of theirs, few of them in cycles. To look through them stops
every stream for 100 to 190 ms, and came once in 60 new schemas.
"""


class Certified(NamedTuple):
    """Knowledge of a constraint in a process that makes no masks. A compiled grammar has thousands of objects more, and
    of a long pause of Python's collector streams would tell.
    """

    minimum: Minimum
    artefact: bytes | None
    """The compiled grammar for `Compiler.grammar` in another process; None where it is too large for a request."""
    special: bool
    """Whether special tokens may stand in texts."""


class Compiler:
    """Grammars for one vocabulary; the least recently asked for go first."""

    def __init__(self, vocabulary: Vocabulary, settings: PluginSettings) -> None:
        """Raises StoreAddressError for a store of the settings that can't be one."""
        self.vocabulary = vocabulary
        self._limits = Limits()
        self._shared: SharedGrammars | None = None
        if settings.store is not None:
            database = open_database(settings.store, self._limits, origin=gethostname(), secret=settings.store_secret)
            self._shared = SharedGrammars(database, vocabulary, self._limits)
        self._grammars: _Once[CompiledGrammar] = _Once()
        self._certified: _Once[Certified] = _Once()
        warm_up(vocabulary)
        warm_up_beside(vocabulary)

    @staticmethod
    def of(tokenizer: Any, generation_settings: dict[str, Any], settings: PluginSettings) -> Compiler:
        """Compiler of a process for a model's tokenizer; its ends are the tokenizer's, and those of the generation
        settings. Python's collector of garbage looks through all of the process more rarely from now on.
        """
        young, older, oldest = gc.get_threshold()
        gc.set_threshold(young, older, max(oldest, _OLD_COLLECTIONS))
        ends = generation_settings.get("eos_token_id")
        extra = [] if ends is None else [ends] if isinstance(ends, int) else ends
        return Compiler(Vocabulary.from_tokenizer(tokenizer, extra), settings)

    def certified(self, constraint: Constraint) -> Certified:
        """Raises GrammarError, to all who ask for the same."""
        return self._certified.get(constraint, lambda: _certified(self._opened(constraint)))

    def grammar(self, constraint: Constraint, artefact: bytes | None = None) -> CompiledGrammar:
        """The compiled grammar, its minimum known. `artefact`: what another process has compiled for the constraint.

        Raises GrammarError, to all who ask for the same.
        """
        return self._grammars.get(constraint, lambda: self._read(artefact) or self._opened(constraint)).current

    def _read(self, artefact: bytes | None) -> CompiledGrammar | None:
        """The grammar of an artefact; None where there is none that this process can use."""
        if artefact is None:
            return None
        try:
            return from_bytes(artefact, self.vocabulary, self._limits)
        except ArtefactError as error:
            log.warning("a grammar is compiled once more, since it can't be read: %s", error)
            return None

    def _opened(self, constraint: Constraint) -> CompiledGrammar:
        """The grammar from the store, or compiled, and kept there."""

        def compiled() -> CompiledGrammar:
            grammar = compile_grammar(constraint, self.vocabulary, self._limits)
            _ = grammar.minimum
            return grammar

        if self._shared is None:
            return compiled()
        return self._shared.get(constraint_id(constraint, self.vocabulary), compiled, STORE_SECONDS).grammar


class _Once(Generic[Made]):
    """Results and refusals by constraint, each made once, by who has asked first; the least recently asked for go
    first. Other failures are told to all who wait, and not kept: what failed may work the next time.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._futures: OrderedDict[Constraint, Future[Made]] = OrderedDict()

    def get(self, constraint: Constraint, make: Callable[[], Made]) -> Made:
        """Raises what `make` has raised."""
        with self._lock:
            future = self._futures.get(constraint)
            first = future is None
            if future is None:
                future = self._futures[constraint] = Future()
                if len(self._futures) > MOST_GRAMMARS:
                    self._futures.popitem(last=False)
            self._futures.move_to_end(constraint)
        if first:
            try:
                future.set_result(make())
            except GrammarError as error:
                future.set_exception(error)
            except BaseException as error:  # whoever else waits is told too
                with self._lock:
                    if self._futures.get(constraint) is future:
                        del self._futures[constraint]
                future.set_exception(error)
        failure = future.exception()
        if failure is not None:
            raise failure.with_traceback(None)  # which would else grow with each time that one is raised
        return future.result()


def _certified(grammar: CompiledGrammar) -> Certified:
    special = grammar.network.reads(ESCAPE)
    try:
        artefact = to_bytes(grammar)
    except LimitExceeded:  # there was no room to follow what the search has found
        return Certified(grammar.minimum, None, special)
    return Certified(grammar.minimum, artefact if len(artefact) <= MOST_CARRIED else None, special)
