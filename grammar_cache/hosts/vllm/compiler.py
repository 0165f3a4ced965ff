"""Compiled grammars of a vLLM process: each constraint once, whichever thread asks first.

With a store, each constraint is compiled once for all processes that share it: the engine core reads as bytes what the
front end has compiled.
"""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future
from socket import gethostname
from threading import Lock
from typing import Any

from grammar_cache.compile import compile_grammar, constraint_id
from grammar_cache.constraint import Constraint
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.vllm.settings import PluginSettings
from grammar_cache.limits import Limits
from grammar_cache.store.opening import open_database
from grammar_cache.store.sharing import SharedGrammars
from grammar_cache.vocabulary.vocabulary import Vocabulary
from grammar_cache.warm_up import warm_up, warm_up_beside

MOST_GRAMMARS = 256

STORE_SECONDS = 20.0
"""Seconds to wait for another process that is compiling the same."""


class Compiler:
    """Grammars for one vocabulary; the least recently asked for go first."""

    def __init__(self, vocabulary: Vocabulary, settings: PluginSettings) -> None:
        """Raises StoreAddressError for a store of the settings that can't be one."""
        self.vocabulary = vocabulary
        self._shared: SharedGrammars | None = None
        if settings.store is not None:
            limits = Limits()
            database = open_database(settings.store, limits, origin=gethostname(), secret=settings.store_secret)
            self._shared = SharedGrammars(database, vocabulary, limits)
        self._lock = Lock()
        self._futures: OrderedDict[Constraint, Future[CompiledGrammar]] = OrderedDict()
        warm_up(vocabulary)
        warm_up_beside(vocabulary)

    @staticmethod
    def of(tokenizer: Any, generation_settings: dict[str, Any], settings: PluginSettings) -> Compiler:
        """Compiler for a model's tokenizer; its ends are the tokenizer's, and those of the generation settings."""
        ends = generation_settings.get("eos_token_id")
        extra = [] if ends is None else [ends] if isinstance(ends, int) else ends
        return Compiler(Vocabulary.from_tokenizer(tokenizer, extra), settings)

    def grammar(self, constraint: Constraint) -> CompiledGrammar:
        """The compiled grammar, its minimum known. Raises GrammarError, to all who ask for the same."""
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
                future.set_result(self._opened(constraint))
            except BaseException as error:  # whoever else waits is told too
                future.set_exception(error)
        return future.result().current

    def _opened(self, constraint: Constraint) -> CompiledGrammar:
        """The grammar from the store, or compiled, and kept there."""

        def compiled() -> CompiledGrammar:
            grammar = compile_grammar(constraint, self.vocabulary)
            _ = grammar.minimum
            return grammar

        if self._shared is None:
            return compiled()
        return self._shared.get(constraint_id(constraint, self.vocabulary), compiled, STORE_SECONDS).grammar
