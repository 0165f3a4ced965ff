"""Strongly connected components of a directed graph."""

from __future__ import annotations

from collections.abc import Sequence


def components(successors: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """Strongly connected components (Tarjan, iterative), numbered so that a caller's is never above its callee's.

    Returns the component of every vertex, and whether a component has a cycle.
    """
    n = len(successors)
    index, low = [-1] * n, [0] * n
    found: list[list[int]] = []
    of = [-1] * n
    stack: list[int] = []
    clock = 0
    for root in range(n):
        if index[root] >= 0:
            continue
        work = [(root, 0)]
        while work:
            v, position = work.pop()
            if index[v] < 0:
                index[v] = low[v] = clock
                clock += 1
                stack.append(v)
            for i in range(position, len(successors[v])):
                w = successors[v][i]
                if index[w] < 0:
                    work += [(v, i), (w, 0)]
                    break
                if of[w] < 0:
                    low[v] = min(low[v], low[w])
            else:
                if low[v] == index[v]:
                    members: list[int] = []
                    while not members or members[-1] != v:
                        members.append(stack.pop())
                        of[members[-1]] = len(found)
                    found.append(members)
    count = len(found)
    cyclic = [len(m) > 1 or m[0] in successors[m[0]] for m in found]
    return tuple(count - 1 - c for c in of), tuple(reversed(cyclic))
