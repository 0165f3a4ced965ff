"""Constraints of vLLM's requests as ours, and what of a request's sampling would cut an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from grammar_cache.constraint import Constraint, Whitespace
from grammar_cache.errors import UnsupportedFeature
from grammar_cache.vocabulary.vocabulary import Vocabulary

_IDLE: dict[str, tuple[object, ...]] = {
    "ignore_eos": (False, None),
    "min_tokens": (0, None),
    "stop": (None, [], ()),
    "bad_words": (None, [], ()),
    "allowed_token_ids": (None,),
    "repetition_detection": (None,),
}
"""Fields of vLLM's SamplingParams that end answers by themselves, or keep them from ending, and their idle values."""


def constraint_of(outputs: Any) -> Constraint:
    """The constraint in vLLM's StructuredOutputsParams, which has one. Raises UnsupportedFeature for what can't be said
    here.
    """
    if outputs.disable_additional_properties:
        raise UnsupportedFeature("disable_additional_properties: say it in the schema")
    white = _whitespace(outputs)
    if outputs.json is not None:
        return Constraint("json_schema", _text(outputs.json), whitespace=white)
    if outputs.json_object:
        return Constraint("json_schema", '{"type": "object"}', whitespace=white)
    if outputs.regex is not None:
        return Constraint("regex", outputs.regex)
    if outputs.choice is not None:
        return Constraint("choice", _text(outputs.choice))
    if outputs.grammar is not None:
        return Constraint("gbnf" if "::=" in outputs.grammar else "lark", outputs.grammar)
    if outputs.structural_tag is None:
        raise UnsupportedFeature("json_object is true, or left out")
    return Constraint("structural_tag", outputs.structural_tag, whitespace=white)


def cutting(params: Any, vocabulary: Vocabulary, *, silent: bool) -> Iterator[tuple[str, object]]:
    """Fields of vLLM's SamplingParams, with their values, that may leave a constrained answer incomplete.

    `silent`: whether tokens that are no text may come too, in a thought or as the constraint's special tokens.
    """
    for name, idle in _IDLE.items():
        value = getattr(params, name)
        if value not in idle:
            yield name, value
    cuts = [token for token in params.stop_token_ids or () if _may_come(token, vocabulary, silent)]
    if cuts:
        yield "stop_token_ids", cuts


def _may_come(token: int, vocabulary: Vocabulary, silent: bool) -> bool:
    if token in vocabulary.stop_ids or not 0 <= token < vocabulary.size:
        return False
    return silent or vocabulary.token_bytes[token] is not None


def _whitespace(outputs: Any) -> Whitespace:
    if outputs.disable_any_whitespace or outputs.whitespace_pattern == "":
        return "compact"
    if outputs.whitespace_pattern is not None:
        raise UnsupportedFeature("whitespace_pattern: only the empty one is supported")
    return "bounded"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
