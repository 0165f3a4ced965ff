"""Tokenizers of transformers, and the vocabularies that have their tokens.

Reading a tokenizer takes as long as many answers do, so a vocabulary remembers those whose tokens it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakSet

from grammar_cache.errors import VocabularyError
from grammar_cache.vocabulary.vocabulary import Vocabulary


class _Known:
    """Tokenizers that were compared with a vocabulary, or that it was read from."""

    def __init__(self) -> None:
        self.tokenizers: WeakSet[Any] = WeakSet()


def vocabulary_of(tokenizer: Any, ends: Iterable[int] = ()) -> Vocabulary:
    """Vocabulary of a tokenizer, with further end tokens. Raises VocabularyError."""
    vocabulary = Vocabulary.from_tokenizer(tokenizer, ends)
    vocabulary.cache(_Known).tokenizers.add(tokenizer)
    return vocabulary


def check_vocabulary(vocabulary: Vocabulary, tokenizer: Any) -> None:
    """Raises VocabularyError where a vocabulary hasn't the tokens of a tokenizer, or another end of text."""
    end = tokenizer.eos_token_id
    if end is not None and end not in vocabulary.stop_ids:
        raise VocabularyError(f"the grammar was compiled for another vocabulary: {end} doesn't end its texts")
    known = vocabulary.cache(_Known).tokenizers
    if tokenizer in known:
        return
    own, theirs = vocabulary.token_bytes, Vocabulary.from_tokenizer(tokenizer, vocabulary.stop_ids).token_bytes
    both = min(len(own), len(theirs))  # what is longer has padding behind, or end tokens
    if own[:both] != theirs[:both] or any(own[both:]) or any(theirs[both:]):
        raise VocabularyError("the grammar was compiled for another vocabulary: its tokens are not the tokenizer's")
    known.add(tokenizer)
