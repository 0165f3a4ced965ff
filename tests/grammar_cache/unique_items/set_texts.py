"""Texts of a set of items, read from its trie."""

from __future__ import annotations

from grammar_cache.unique_items.item_sets import ItemSets


def texts_of(sets: ItemSets, number: int) -> set[bytes]:
    """The texts of a set."""
    found, todo = set[bytes](), [(b"", number)]
    while todo:
        before, at = todo.pop()
        if sets.ends(at):
            found.add(before)
        todo += [(before + label[begin:], after) for label, after, begin in sets.edges(at)]
    return found
