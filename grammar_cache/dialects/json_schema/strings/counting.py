"""Counted characters, written so that masks between the quotation marks are quick.

The network counts a large repetition by halves, so that many that begin side by side, as in `.*a.{4000}`, share what
they count. Between quotation marks a count begins once, and a row of states is better: a configuration is one of them,
and the masks of two differ only in tokens that are longer than the rest of the row.
"""

from __future__ import annotations

from operator import is_

from grammar_cache.automata.builder import minimal_automaton
from grammar_cache.dialects.json_schema.expressions.combine import alt, seq
from grammar_cache.dialects.json_schema.expressions.right_linear import Define
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Alt, Bytes, CharClass, Expression, Ref, Repeat, Seq
from grammar_cache.limits import Limits

ROW = 128
"""Calls that the network leaves in a row (its `UNROLL_SIZE`)."""
_MOST_STATES = 4096
"""States that may be made for a pattern that counts: to find that it has more takes some milliseconds at most."""
_FEW = 16
"""Counts up to which the network spells a pattern out anyway."""


def characters(character: Ref, least: int, most: int | None, define: Define) -> Expression:
    """Between `least` and `most` of the rule of a character, by rows of `ROW`, rows of so many rows, and so on."""
    begun = _exactly(character, least, define)
    if most is None:
        return seq(begun, Repeat(character, 0, None))
    return seq(begun, _up_to(character, most - least, define))


def _exactly(item: Ref, count: int, define: Define) -> Expression:
    if count <= ROW:
        return Repeat(item, count, count)
    rows, rest = divmod(count, ROW)
    return seq(_exactly(_row(item, define), rows, define), Repeat(item, rest, rest))


def _up_to(item: Ref, count: int, define: Define) -> Expression:
    """Up to `count` times, with one reading each: some rows, but not all, and less than one more; or all of them and
    at most the rest."""
    if count < ROW:
        return Repeat(item, 0, count)
    rows, rest = divmod(count, ROW)
    row = _row(item, define)
    fewer = seq(_up_to(row, rows - 1, define), Repeat(item, 0, ROW - 1))  # as deep as the count has digits
    return alt((fewer, seq(_exactly(row, rows, define), Repeat(item, 0, rest))))


def _row(item: Ref, define: Define) -> Ref:
    return define(f"{ROW} of {item.name}", Repeat(item, ROW, ROW))


def spelled_out(pattern: Expression, limits: Limits) -> Expression:
    """The automaton of a pattern that counts, if it is small; else the pattern."""
    if not _counts(pattern):
        return pattern
    try:
        return minimal_automaton(pattern, min(_MOST_STATES, limits.rule_states), limits.nesting)
    except LimitExceeded:
        return pattern


def by_rows(pattern: Expression, name: str, define: Define) -> Expression:
    """The pattern with counts as rows of calls, as far as all before them is of fixed length: each begins in one place.

    `name` begins the names of rules of what is counted. Where nothing is, that is the same object.
    """
    if isinstance(pattern, Seq | Alt):
        fixed = len(pattern.items)
        if isinstance(pattern, Seq):
            fixed = 1 + next((place for place, item in enumerate(pattern.items) if not _fixed(item)), fixed)
        items = [by_rows(item, f"{name}.{number}", define) for number, item in enumerate(pattern.items[:fixed])]
        if all(map(is_, items, pattern.items)):
            return pattern
        return seq(*items, *pattern.items[fixed:]) if isinstance(pattern, Seq) else alt(items)
    if isinstance(pattern, Repeat) and pattern.most and pattern.most > _FEW and _reads(pattern.item):
        return characters(define(name, pattern.item), pattern.least, pattern.most, define)
    return pattern


def _fixed(pattern: Expression) -> bool:
    """Whether texts have one length, or each alternative has one."""
    match pattern:
        case Seq() | Alt():
            return all(map(_fixed, pattern.items))
        case Repeat(item, least, most):
            return least == most and _fixed(item)
    return isinstance(pattern, Bytes | CharClass)


def _reads(pattern: Expression) -> bool:
    """Whether it is plain to see that no text of a pattern is empty."""
    match pattern:
        case Bytes(data):
            return bool(data)
        case CharClass():
            return True
        case Seq(items):
            return any(map(_reads, items))
        case Alt(items):
            return all(map(_reads, items))
        case Repeat(item, least, _):
            return least > 0 and _reads(item)
    return False


def _counts(pattern: Expression) -> bool:
    """Whether there is a count outside of intersections and complements, which are automata anyway."""
    todo = [pattern]
    for node in todo:  # grows while it is read
        if isinstance(node, Repeat):
            if max(node.least, node.most or 0) > _FEW:
                return True
            todo.append(node.item)
        elif isinstance(node, Seq | Alt):
            todo += node.items
    return False
