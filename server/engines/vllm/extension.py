"""Stand-in."""

from __future__ import annotations

from pathlib import Path

from grammar_cache import Limits
from grammar_cache.artefact import from_bytes
from grammar_cache.vocabulary import Vocabulary
from server.engines.embedded import default_cache
from server.settings import Settings

GRAMMARS = {}


class GrammarWorker:
    def load_grammar(self, key, data):
        if "vocabulary" not in GRAMMARS:
            GRAMMARS["vocabulary"] = Vocabulary.from_pretrained(
                Path(self.vllm_config.model_config.model), cache=default_cache()
            )
        v = GRAMMARS["vocabulary"]
        for limits in (Settings().limits, Limits()):
            try:
                GRAMMARS[key] = from_bytes(data, v, limits)
                return
            except Exception as e:
                error = e
        raise error

    def drop_grammar(self, key):
        del GRAMMARS[key]
