"""Grammars that one of vLLM's processes holds, by the keys that requests name them by.

The front end sends them as bytes, and says when they go: none goes by itself, since a running request may need it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grammar_cache.artefact.artefact import from_bytes
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.vllm.wire.claims import Sent, received, sent

GRAMMARS = 1024


class UnknownGrammar(LookupError):
    """No grammar of this key is here."""


class RegistryFull(RuntimeError):
    """Error for one grammar more than may be held."""


class HeldGrammars:
    """Grammars for one vocabulary; bounded by refusing more."""

    def __init__(self, vocabulary: Vocabulary, most: int = GRAMMARS) -> None:
        self.vocabulary = vocabulary
        self._most = most
        self._grammars: dict[str, CompiledGrammar] = {}

    @property
    def grammars(self) -> Mapping[str, CompiledGrammar]:
        """Grammars that are held, by key."""
        return self._grammars

    def add(self, key: str, grammar: CompiledGrammar) -> None:
        """Adds a grammar, in place of one of that key, if there is one. Raises RegistryFull."""
        if key not in self._grammars and len(self._grammars) >= self._most:
            raise RegistryFull(f"{self._most} grammars are held: drop one before another is added")
        self._grammars[key] = grammar

    def find(self, key: str) -> CompiledGrammar:
        """Raises UnknownGrammar."""
        if key not in self._grammars:
            raise UnknownGrammar(f"the grammar {key!r} is not loaded here")
        return self._grammars[key]

    def remove(self, key: str) -> CompiledGrammar | None:
        """One that isn't there is no error: a call may come twice."""
        return self._grammars.pop(key, None)

    def load(self, key: str, data: bytes, limits: Mapping[str, int], claims: Sent) -> None:
        """Adds a grammar from its bytes (`artefact.to_bytes`), with the fields of the `Limits` that it was compiled
        with, and what others have found.

        Raises ArtefactError, which also means another vocabulary, and RegistryFull.
        """
        grammar = from_bytes(data, self.vocabulary, Limits(**limits))
        grammar.offer(received(claims))
        self.add(key, grammar)

    def drop(self, key: str) -> Sent:
        """Removes a grammar that no running request names. Returns what its searches have found since they were last
        asked.
        """
        grammar = self.remove(key)
        return {} if grammar is None else sent(grammar.learned())

    def exchange(self, keys: Sequence[str], news: Mapping[str, Sent]) -> dict[str, Sent]:
        """Offers grammars, by key, what searches elsewhere found; returns what their own found since the last call.
        A grammar that isn't held any more is passed over.
        """
        held = {key: self._grammars[key] for key in keys if key in self._grammars}
        for key in held.keys() & news.keys():
            held[key].offer(received(news[key]))
        return {key: sent(grammar.learned()) for key, grammar in held.items()}
