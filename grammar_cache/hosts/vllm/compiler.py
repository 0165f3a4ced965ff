"""Compiled grammars of a vLLM process: each constraint once, whichever thread asks first."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future
from threading import Lock
from typing import Any

from grammar_cache.compile import compile_grammar
from grammar_cache.constraint import Constraint
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.vocabulary.vocabulary import Vocabulary
from grammar_cache.warm_up import warm_up

MOST_GRAMMARS = 256


class Compiler:
    """Grammars for one vocabulary; the least recently asked for go first."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._lock = Lock()
        self._futures: OrderedDict[Constraint, Future[CompiledGrammar]] = OrderedDict()
        warm_up(vocabulary)

    @staticmethod
    def of(tokenizer: Any, generation_settings: dict[str, Any]) -> Compiler:
        """Compiler for a model's tokenizer; its ends are the tokenizer's, and those of the generation settings."""
        ends = generation_settings.get("eos_token_id")
        extra = [] if ends is None else [ends] if isinstance(ends, int) else ends
        return Compiler(Vocabulary.from_tokenizer(tokenizer, extra))

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
                grammar = compile_grammar(constraint, self.vocabulary)
                with grammar.lock:
                    _ = grammar.minimum
                future.set_result(grammar)
            except BaseException as error:  # whoever else waits is told too
                future.set_exception(error)
        return future.result().current
