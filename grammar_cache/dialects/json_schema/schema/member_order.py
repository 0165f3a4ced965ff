"""Order of members that is the same for all schemas of a document, and of each one where they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise

from grammar_cache.dialects.json_schema.schema.loading import Json


class MemberOrder:
    """Order of the names that a document's `properties` list. Others come behind, by their letters."""

    def __init__(self, root: Json) -> None:
        self._root = root

    def of(self, names: Iterable[str]) -> list[str]:
        """Puts names in order."""
        ranks = self._ranks
        return sorted(names, key=lambda name: (ranks.get(name, len(ranks)), name))

    @cached_property
    def _ranks(self) -> dict[str, int]:
        """Place of each name: behind those that stand before it anywhere, unless they stand behind it as well."""
        listings = list(_listings(self._root))
        names = list(dict.fromkeys(name for listing in listings for name in listing))
        met = {name: place for place, name in enumerate(names)}
        behind: dict[str, set[str]] = {name: set() for name in names}
        for listing in listings:
            for name, following in pairwise(listing):
                behind[name].add(following)
        missing = Counter(name for following in behind.values() for name in following)
        ready = [place for place, name in enumerate(names) if not missing[name]]
        left, ranks = iter(names), dict[str, int]()
        while len(ranks) < len(names):
            # where names stand before each other, the one that is met first begins
            name = names[heappop(ready)] if ready else next(name for name in left if name not in ranks)
            if name not in ranks:
                ranks[name] = len(ranks)
                missing.subtract(behind[name])
                for following in behind[name]:
                    if not missing[following]:
                        heappush(ready, met[following])
        return ranks


def _listings(root: Json) -> Iterator[list[str]]:
    """Names of each `properties` of a document, in the order of the text."""
    stack = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            properties = value.get("properties")
            if isinstance(properties, dict):
                yield list(properties)
            stack.extend(reversed(value.values()))
        elif isinstance(value, list):
            stack.extend(reversed(value))
