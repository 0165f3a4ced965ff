"""What a grammar becomes: the constraint core of SWYB. It imports no web, engine or model library."""

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
from grammar_cache.vocabulary import Vocabulary

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
