"""Registry of one worker process: the grammars that requests name, and what has failed of requests.

The thread that runs the model's steps does everything here: vLLM's workers take calls from outside between steps.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from grammar_cache.grammar import CompiledGrammar
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.vllm.wire.choices import Forced
from server.backends.vllm.wire.end_tokens import end_tokens
from server.decoding.forced_text import ForcedText, Split
from server.decoding.language import AnyText, Language

_log = logging.getLogger(__name__)

GRAMMARS = 1024
REPORTS = 16384


class UnknownGrammar(LookupError):
    """No grammar of this id is here."""


class RegistryFull(RuntimeError):
    """Error for one grammar more than may be held: none goes by itself, since a running request may need it."""


@dataclass(slots=True)
class Report:
    """Report on one answer: where the witness chose the token after a fault, where the budget did, and why it failed,
    so that it is logged once.

    Places count tokens of the answer. A failed answer was ended where it wasn't complete, which the front end sees.
    """

    rescued: set[int] = field(default_factory=set)
    forced: set[int] = field(default_factory=set)
    failure: str | None = None


class Registry:
    """Bounded: grammars by refusing more, reports by forgetting the oldest. `ends`: see `end_tokens`."""

    def __init__(self, vocabulary: Vocabulary, split: Split, grammars: int = GRAMMARS, reports: int = REPORTS) -> None:
        """`split`: the tokenizer's, for jumps over text."""
        self.vocabulary = vocabulary
        self._split = split
        self.any_text = AnyText(vocabulary)
        self.ends = end_tokens(vocabulary)
        self._grammars: dict[str, CompiledGrammar] = {}
        self._forced: dict[str, ForcedText] = {}
        self._reports: OrderedDict[str, Report] = OrderedDict()
        self._noted: dict[str, Forced] = {}
        self._most_grammars = grammars
        self._most_reports = reports

    def add(self, grammar_id: str, grammar: CompiledGrammar) -> None:
        """Adds a grammar, in place of one of that id, if there is one. Raises RegistryFull."""
        if grammar_id not in self._grammars and len(self._grammars) >= self._most_grammars:
            raise RegistryFull(f"{self._most_grammars} grammars are held: drop one before another is added")
        self._grammars[grammar_id] = grammar
        self._forced[grammar_id] = ForcedText(grammar, self._split)

    def renew(self, grammar_id: str | None) -> None:
        """Renews the grammar of a request that begins: a grammar without room to look further is begun anew.

        Single texts follow it there, see `History`; searches end in the one that they began in. Never raises.
        """
        grammar = self._grammars.get(grammar_id or "")
        if grammar_id is None or grammar is None or not grammar.full:
            return
        try:
            self.add(grammar_id, grammar.renewed())
        except Exception:
            _log.exception("the grammar %r can't be begun anew: its answers end by their witnesses", grammar_id)

    def drop(self, grammar_id: str) -> CompiledGrammar | None:
        """One that isn't there is no error: a call may come twice."""
        self._forced.pop(grammar_id, None)
        return self._grammars.pop(grammar_id, None)

    @property
    def grammars(self) -> Mapping[str, CompiledGrammar]:
        """Grammars that are held, by their ids."""
        return self._grammars

    def language(self, grammar_id: str | None, *, over_text: bool = False) -> Language:
        """The grammar of an id, or any text; `over_text`: with jumps over text. Raises UnknownGrammar."""
        if grammar_id is None:
            return self.any_text
        found = (self._forced if over_text else self._grammars).get(grammar_id)
        if found is None:
            raise UnknownGrammar(f"the grammar {grammar_id!r} is not loaded in this worker")
        return found

    def note(self, request: str, place: int, *, forced: bool) -> None:
        """Notes whether the budget chose the token at a place of an answer, which is the last for now."""
        if not forced and request not in self._reports:
            return
        places = self.report(request).forced
        (places.add if forced else places.discard)(place)
        if places:
            self._noted[request] = tuple(sorted(noted for noted in places if noted <= place))

    def take_forced(self) -> dict[str, Forced]:
        """Places of tokens that the budget chose, of answers that have some and took this step."""
        found, self._noted = self._noted, {}
        return found

    def report(self, request: str) -> Report:
        """Report on a request, begun if there is none yet."""
        found = self._reports.setdefault(request, Report())
        if len(self._reports) > self._most_reports:
            self._reports.popitem(last=False)
        return found
