"""Patterns as languages, kept for further schemas that have them: families of schemas share a few patterns.

What is kept equals what reading a pattern again would give: nothing but time depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.dialects.json_schema.expressions.combine import seq
from grammar_cache.dialects.json_schema.expressions.encoding import QUOTE, encoded
from grammar_cache.dialects.json_schema.strings.counting import spelled_out
from grammar_cache.dialects.regex import compiler as regex
from grammar_cache.expression import Automaton, Bytes, CharClass, Expression, Not, Ref, Repeat
from grammar_cache.limits import Limits

_KEPT_BYTES = 4 << 20
"""Bytes of all languages that are kept, as `_bytes` counts them."""
_SHARE = 8
"""A single language may take so small a part of them."""
_OVERHEAD, _NODE, _RANGE = 500, 150, 150
"""Bytes of what is kept, however small; and for each part of a language, and for each range of characters."""

_Key: TypeAlias = tuple[str, Limits, Literal["texts", "spellings", "strings"]]
_KEPT: LruCache[_Key, Expression] = LruCache(_KEPT_BYTES, _SHARE)


def texts(pattern: str, limits: Limits) -> Expression:
    """The texts in which a pattern matches. Raises what `regex.compiler.parse` does."""
    return _kept((pattern, limits, "texts"), lambda: regex.parse(pattern, search=True, limits=limits))


def spellings(pattern: str, limits: Limits, read: Expression) -> Expression:
    """Spellings, between quotation marks, of the texts that were `read`."""
    return _kept((pattern, limits, "spellings"), lambda: spelled_out(encoded(read), limits))


def strings(pattern: str, limits: Limits, spelled: Expression) -> Expression:
    """Strings of these spellings: the same object for many schemas, so that what is made of it is kept."""
    return _kept((pattern, limits, "strings"), lambda: seq(QUOTE, spelled, QUOTE))


def _kept(key: _Key, made: Callable[[], Expression]) -> Expression:
    known = _KEPT.get(key)
    if known is None:
        known = made()
        _KEPT.keep(key, known, _OVERHEAD + len(key[0]) + _bytes(known))
    return known


def _bytes(language: Expression) -> int:
    """Bytes of a language, roughly: of no more parts than are too many anyway."""
    total, todo, seen = 0, [language], set[int]()
    while todo and total <= _KEPT_BYTES // _SHARE:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        total += _NODE
        if isinstance(node, Bytes):
            total += len(node.data)
        elif isinstance(node, CharClass):
            total += _RANGE * len(node.ranges)
        elif isinstance(node, (Repeat, Not)):
            todo.append(node.item)
        elif isinstance(node, Automaton):
            total += node.edges.nbytes + node.ends.nbytes
        elif not isinstance(node, Ref):
            todo += node.items
    return total
