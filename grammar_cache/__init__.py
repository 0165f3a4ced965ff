"""Constraint core of SWYB: what a grammar becomes. Only what is for a host imports that host's library.

Names are loaded when they are first asked for: numba takes most of a second, and texts of help need none of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grammar_cache.analysis.explanation import Explanation, explain
    from grammar_cache.compile import compile_grammar
    from grammar_cache.constraint import Constraint
    from grammar_cache.distances.searched_distances import Minimum
    from grammar_cache.errors import (
        AnswerTooLong,
        BudgetTooSmall,
        EmptyLanguage,
        GrammarError,
        GrammarSyntaxError,
        LimitExceeded,
        UnsupportedFeature,
        VocabularyError,
    )
    from grammar_cache.grammar import CompiledGrammar
    from grammar_cache.grammars.shipped import names as shipped_names
    from grammar_cache.grammars.shipped import shipped
    from grammar_cache.grammars.sql_schema import sql_grammar
    from grammar_cache.hosts.certificate import Certificate
    from grammar_cache.hosts.cursor import Cursor
    from grammar_cache.hosts.transformers.generation import Generation, generate
    from grammar_cache.hosts.transformers.processor import BudgetLogitsProcessor
    from grammar_cache.limits import Limits
    from grammar_cache.vocabulary.vocabulary import Vocabulary

__all__ = [
    "AnswerTooLong",
    "BudgetLogitsProcessor",
    "BudgetTooSmall",
    "Certificate",
    "CompiledGrammar",
    "Constraint",
    "Cursor",
    "EmptyLanguage",
    "Explanation",
    "Generation",
    "GrammarError",
    "GrammarSyntaxError",
    "LimitExceeded",
    "Limits",
    "Minimum",
    "UnsupportedFeature",
    "Vocabulary",
    "VocabularyError",
    "compile_grammar",
    "explain",
    "generate",
    "shipped",
    "shipped_names",
    "sql_grammar",
]

_PLACES = {
    "BudgetLogitsProcessor": ("hosts.transformers.processor", "BudgetLogitsProcessor"),
    "Certificate": ("hosts.certificate", "Certificate"),
    "CompiledGrammar": ("grammar", "CompiledGrammar"),
    "Constraint": ("constraint", "Constraint"),
    "Cursor": ("hosts.cursor", "Cursor"),
    "Explanation": ("analysis.explanation", "Explanation"),
    "Generation": ("hosts.transformers.generation", "Generation"),
    "Limits": ("limits", "Limits"),
    "Minimum": ("distances.searched_distances", "Minimum"),
    "Vocabulary": ("vocabulary.vocabulary", "Vocabulary"),
    "compile_grammar": ("compile", "compile_grammar"),
    "explain": ("analysis.explanation", "explain"),
    "generate": ("hosts.transformers.generation", "generate"),
    "shipped": ("grammars.shipped", "shipped"),
    "shipped_names": ("grammars.shipped", "names"),
    "sql_grammar": ("grammars.sql_schema", "sql_grammar"),
}
"""The module of a name, and its name there; the others are errors."""

if not TYPE_CHECKING:  # or type checkers would believe that every name is here

    def __getattr__(name: str) -> object:
        """A public name, loaded. Raises AttributeError for others."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, there = _PLACES.get(name, ("errors", name))
        found = globals()[name] = getattr(import_module(f"{__name__}.{module}"), there)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
