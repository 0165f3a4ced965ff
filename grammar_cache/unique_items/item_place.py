"""Place inside of arrays whose items may not repeat: a configuration, and what is known of the items under way."""

from __future__ import annotations

from typing import NamedTuple

from grammar_cache.configurations.interner import DEAD
from grammar_cache.unique_items.compact_texts import Lexical
from grammar_cache.unique_items.item_sets import EMPTY
from grammar_cache.unique_items.open_arrays import OpenArray


class OpenItem(NamedTuple):
    """Item under way.

    `earlier`: the set of the texts of the items before. `text`: what has been read of it, among `ItemPlaces.texts`.
    `ahead`: the set of what is missing of it to be an earlier one. `owed`: items that have to follow it; `used`: the
    spare items before, see `RequiredItems`.
    """

    array: OpenArray
    earlier: int
    text: int
    ahead: int
    owed: int = 0
    used: int = 0


class ItemPlace(NamedTuple):
    """Place inside arrays. `items`: those under way, the outermost first. `spares`: where the item under way has been
    read as a spare item, the configuration of that and of those that follow; else DEAD.
    """

    configuration: int
    items: tuple[OpenItem, ...]
    lexical: Lexical
    spares: int = DEAD

    @property
    def item(self) -> OpenItem:
        """The innermost item under way."""
        return self.items[-1]

    @property
    def aheads(self) -> tuple[int, ...]:
        """Sets of what is missing of the items to be earlier ones."""
        return tuple([item.ahead for item in self.items if item.ahead != EMPTY])

    @property
    def may_repeat(self) -> bool:
        """Whether any of the items may still become an earlier one."""
        return any(item.ahead != EMPTY for item in self.items)

    @property
    def is_apart(self) -> bool:
        """Whether more than the configuration decides what may follow inside of the items."""
        return self.may_repeat or self.owes or self.spares != DEAD

    @property
    def owes(self) -> bool:
        """Whether items have to follow: then the configuration is that of the one under way alone."""
        return bool(self.items) and self.items[-1].owed > 0
