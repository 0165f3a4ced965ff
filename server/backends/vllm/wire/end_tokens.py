"""The tokens that end an answer in vLLM: front end and workers have to agree on them."""

from __future__ import annotations

from grammar_cache.vocabulary.vocabulary import Vocabulary


def end_tokens(vocabulary: Vocabulary) -> tuple[int, ...]:
    """The tokens that end an answer in vLLM; of a model that has none, one that no text has."""
    spare = spare_token(vocabulary)
    return vocabulary.stop_ids or (() if spare is None else (spare,))


def spare_token(vocabulary: Vocabulary) -> int | None:
    """The first token that neither spells a text nor ends one."""
    spare = vocabulary.string_of < 0
    spare[list(vocabulary.stop_ids)] = False
    return int(spare.argmax()) if spare.any() else None
