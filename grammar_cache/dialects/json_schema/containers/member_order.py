"""Order of members that is the same wherever two of them stand in one object.

It is that of each schema, unless an object before has two names the other way round. Names have places, in an order
that all objects so far keep to; a pair more moves as few of them as need be (Pearce and Kelly, A dynamic topological
sort algorithm for directed acyclic graphs, 2007).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise


class MemberOrder:
    """Order of members of objects, as they are written. `spend` is told of the names that are looked at."""

    def __init__(self, spend: Callable[[int], None]) -> None:
        self._spend = spend
        self._places: dict[str, int] = {}
        self._following: dict[str, set[str]] = {}
        self._preceding: dict[str, set[str]] = {}

    def of(self, names: Iterable[str]) -> list[str]:
        """Puts the names of an object in order, to which all later ones keep."""
        wanted = list(names)
        for name in wanted:
            if name not in self._places:
                self._places[name] = len(self._places)
                self._following[name], self._preceding[name] = set(), set()
        for one, other in pairwise(wanted):
            self._put_before(one, other)
        found = sorted(wanted, key=lambda name: self._places[name])
        for one, other in pairwise(found):
            self._put_before(one, other)
        return found

    def _put_before(self, one: str, other: str) -> None:
        """Puts a name before another one, unless it has to stand behind it."""
        first, last = self._places[other], self._places[one]
        if first < last:
            behind = self._reached(other, self._following, lambda place: place <= last)
            if one in behind:
                return
            before = self._reached(one, self._preceding, lambda place: place >= first)
            self._move([*before, *behind])
        self._following[one].add(other)
        self._preceding[other].add(one)

    def _reached(self, name: str, pairs: Mapping[str, set[str]], is_between: Callable[[int], bool]) -> list[str]:
        """A name and those that are led to from it between some places, in their order."""
        found, todo = {name}, [name]
        while todo:
            near = {other for other in pairs[todo.pop()] if other not in found and is_between(self._places[other])}
            found |= near
            todo += near
            self._spend(1 + len(near))
        return sorted(found, key=lambda name: self._places[name])

    def _move(self, names: list[str]) -> None:
        """Gives names their own places in another order."""
        places = sorted(self._places[name] for name in names)
        self._places |= zip(names, places, strict=True)
