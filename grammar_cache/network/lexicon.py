"""Lexicons: rules that call many others, each of which stands for a few words.

With the values of a database as terminals, a grammar for SQL calls hundreds at one place. Called one by one, each is an
item of its own there; inlined, they are one trie, and reading a byte costs no more than in any other text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from grammar_cache.algorithms.strong_components import components
from grammar_cache.expression import Alt, Automaton, Bytes, CharClass, Expression, Ref, Seq

LEXICON = 32
"""Rules for words that one rule calls, above which it is a lexicon. Of 942 schemas of MaskBench none calls more."""
WORDS_SIZE = 512
"""Parts and bytes that a rule for words may have: so many that most of them are found in one place are rare."""


def words_of_lexicons(
    calls: Mapping[str, Sequence[str]], recursive: set[str], body: Callable[[str], Expression]
) -> set[str]:
    """Rules for words that lexicons call, and all that those call."""
    found: set[str] = set()
    for called in calls.values():
        if len(called) > LEXICON:
            words = [name for name in called if name not in recursive and _are_words(name, recursive, body)]
            found.update(words if len(words) > LEXICON else ())
    todo = list(found)
    while todo:
        new = set(calls[todo.pop()]) - found
        found |= new
        todo += new
    return found


def _are_words(name: str, recursive: set[str], body: Callable[[str], Expression]) -> bool:
    """Whether a rule stands for finitely many texts, and is small with all that it calls."""
    size, todo = 0, [body(name)]
    while todo and size <= WORDS_SIZE:
        item = todo.pop()
        size += 1
        if isinstance(item, (Seq, Alt)):
            todo += item.items
        elif isinstance(item, Bytes):
            size += len(item.data)
        elif isinstance(item, Ref) and item.name not in recursive:
            todo.append(body(item.name))
        elif isinstance(item, CharClass):
            size += len(item.ranges)
        elif isinstance(item, Automaton) and not item.items:
            size += len(item.edges)
            if size <= WORDS_SIZE and _has_cycle(item):
                return False
        else:
            return False
    return size <= WORDS_SIZE


def _has_cycle(automaton: Automaton) -> bool:
    after: list[list[int]] = [[] for _ in range(automaton.states)]
    for state, head in automaton.edges[:, [0, 3]].tolist():
        after[state].append(head)
    return any(components(after)[1])
