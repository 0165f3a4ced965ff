"""`$dynamicRef` and `$recursiveRef`: to the outermost resource on the way that has the anchor.

Here a schema means the same wherever it is applied, so the outermost must be the same on every way. That it is
follows where the root has the anchor, or where no way to another anchor of the name goes round a certain one.
"""

from __future__ import annotations

from collections import defaultdict
from urllib.parse import unquote

from grammar_cache.dialects.json_schema.schema.resources import RECURSIVE, REFERENCES, Resources
from grammar_cache.errors import LimitExceeded, UnsupportedFeature

_ROOT = ""
_STEPS = 1_000_000
"""Ways that may be looked at for one schema: small ones need hundreds."""


class DynamicAnchors:
    """The anchors of a schema and of all that it refers to."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._graph: dict[str, set[str]] | None = None
        self._around: dict[str | None, set[str]] = {}
        self._steps = _STEPS

    def outermost(self, holder: str, target: str, name: str) -> str | None:
        """The resource that a dynamic reference in the resource `holder` leads to; None where ways differ.

        `target` is the resource it would lead to if it were static, which has the anchor. Raises LimitExceeded.
        """
        having = self._ways().get(_any(name), set())
        if _ROOT in having:
            return _ROOT
        having = having & self._reach(None)
        for outer in sorted(having):
            around = self._reach(outer)
            if not around & (having - {outer}) and (outer == target or holder not in around):
                return outer
        return None

    def _ways(self) -> dict[str, set[str]]:
        """Edges from each resource to those that it holds and those that it refers to, by whatever anchor of the
        name.
        """
        if self._graph is not None:
            return self._graph
        graph: dict[str, set[str]] = defaultdict(set)
        done: set[str] = set()
        while waiting := [text for text in self._resources.texts if text not in done]:
            for text in waiting:
                done.add(text)
                self._follow(text, graph)
        for resource, name in self._resources.dynamic:
            graph[_any(name)].add(resource)
        self._graph = graph
        return graph

    def _follow(self, text: str, graph: dict[str, set[str]]) -> None:
        for value, place, scope in self._resources.schemas(text):
            if place == scope.resource and place != text:
                graph[self._owner(place)].add(place)
            for keyword in REFERENCES:
                reference = value.get(keyword)
                if not isinstance(reference, str):
                    continue
                if keyword != "$ref":
                    graph[scope.resource].add(_any(RECURSIVE if keyword == "$recursiveRef" else _fragment(reference)))
                try:
                    target = self._resources.find(scope.base, reference)
                except (UnsupportedFeature, ValueError):
                    continue  # where it matters it is refused, with its place
                found = None if target is None else self._resources.walk(target)
                if found is not None:
                    graph[scope.resource].add(found[1].resource)

    def _owner(self, place: str) -> str:
        found = self._resources.walk(place.rpartition("/")[0])
        assert found is not None, "what holds a place is there"
        return found[1].resource

    def _reach(self, without: str | None) -> set[str]:
        """Resources that ways from the root lead to which don't pass one resource."""
        if without in self._around:
            return self._around[without]
        graph = self._ways()
        found = {_ROOT}
        stack = [_ROOT]
        while stack:
            others = graph.get(stack.pop(), set())
            self._steps -= len(others) + 1
            if self._steps < 0:
                message = f"dynamic references take more than {_STEPS} steps to follow"
                raise LimitExceeded(message, limit="rules", pointer="")
            for other in others - found:
                if other != without:
                    found.add(other)
                    stack.append(other)
        self._around[without] = found
        return found


def _any(name: str) -> str:
    """Stands for all resources with the dynamic anchor; no place starts with a space."""
    return f" {name}"


def _fragment(reference: str) -> str:
    return unquote(reference.rpartition("#")[2])
