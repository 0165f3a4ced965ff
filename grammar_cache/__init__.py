"""What a grammar becomes: the constraint core of SWYB. It imports no web, engine or model library.

Names are loaded when they are first asked for: numba takes most of a second, and texts of help need none of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grammar_cache.compile import compile_grammar
    from grammar_cache.constraint import Constraint
    from grammar_cache.errors import (
        AnswerTooLong,
        EmptyLanguage,
        GrammarError,
        GrammarSyntaxError,
        LimitExceeded,
        UnsupportedFeature,
        VocabularyError,
    )
    from grammar_cache.grammar import CompiledGrammar, Minimum
    from grammar_cache.limits import Limits
    from grammar_cache.vocabulary.vocabulary import Vocabulary

__all__ = [
    "AnswerTooLong",
    "CompiledGrammar",
    "Constraint",
    "EmptyLanguage",
    "GrammarError",
    "GrammarSyntaxError",
    "LimitExceeded",
    "Limits",
    "Minimum",
    "UnsupportedFeature",
    "Vocabulary",
    "VocabularyError",
    "compile_grammar",
]

_MODULES = {
    "compile_grammar": "compile",
    "Constraint": "constraint",
    "CompiledGrammar": "grammar",
    "Minimum": "grammar",
    "Limits": "limits",
    "Vocabulary": "vocabulary",
}
"""Where names are; the others are errors."""

if not TYPE_CHECKING:  # or type checkers would believe that every name is here

    def __getattr__(name: str) -> object:
        """A public name, loaded. Raises AttributeError for others."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES.get(name, 'errors')}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
