"""Registry of one worker process: the grammars that searches name.

The thread that runs the model's steps does everything here: vLLM's workers take calls from outside between steps.
"""

from __future__ import annotations

import logging

from grammar_cache.grammar import CompiledGrammar
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.vllm.wire.held_grammars import GRAMMARS, HeldGrammars
from server.decoding.forced_text import ForcedText, Split
from server.decoding.language import AnyText, Language

_log = logging.getLogger(__name__)


class Registry(HeldGrammars):
    """Grammars as languages, each with jumps over text and without."""

    def __init__(self, vocabulary: Vocabulary, split: Split, most: int = GRAMMARS) -> None:
        """`split`: the tokenizer's, for jumps over text."""
        super().__init__(vocabulary, most)
        self.any_text = AnyText(vocabulary)
        self._split = split
        self._forced: dict[str, ForcedText] = {}

    def add(self, key: str, grammar: CompiledGrammar) -> None:
        super().add(key, grammar)
        self._forced[key] = ForcedText(grammar, self._split)

    def remove(self, key: str) -> CompiledGrammar | None:
        self._forced.pop(key, None)
        return super().remove(key)

    def renew(self, key: str | None) -> None:
        """Renews the grammar of a search that begins: one without room to look further is begun anew. Searches end in
        the one that they began in. Never raises.
        """
        grammar = self.grammars.get(key or "")
        if key is None or grammar is None or not grammar.full:
            return
        try:
            self.add(key, grammar.renewed())
        except Exception:
            _log.exception("the grammar %r can't be begun anew: its answers end by their witnesses", key)

    def language(self, key: str | None, *, over_text: bool = False) -> Language:
        """The grammar of a key, or any text; `over_text`: with jumps over text. Raises UnknownGrammar."""
        if key is None:
            return self.any_text
        grammar = self.find(key)
        return self._forced[key] if over_text else grammar
