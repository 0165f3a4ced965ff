"""Rules of equal content as one: what a grammar repeats under other names is automated once.

Rules are compared by their codes, each behind those that it names. One that is named before, being recursive, keeps its
name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from grammar_cache.automata.flat_expression import Code
from grammar_cache.loops.array_types import Ints


def merged(
    codes: Mapping[str, Code], start: str, kinds: Mapping[str, object], beside: Mapping[str, tuple[str, ...]]
) -> tuple[dict[str, Code], dict[str, str]]:
    """Codes of the rules that `start` needs, of equal ones that of the first, and which one stands for each rule.
    `kinds`: rules that are equal to those of their kind only. `beside`: rules that another one needs without a call, of
    which those that are equal need equal ones.
    """
    kept: dict[str, Code] = {}
    stands_for: dict[str, str] = {}
    first: dict[tuple[object, ...], str] = {}
    entered, named_before = set[str](), {start}
    stack = [start]
    while stack:
        name = stack[-1]
        code = codes[name]
        if name not in entered:
            entered.add(name)
            stack += [other for other in reversed(code.names) if other not in entered]
            stack += [other for other in beside.get(name, ()) if other not in entered]
            continue
        stack.pop()
        if name in stands_for:
            continue
        named_before.update(other for other in code.names if other not in stands_for)
        own = _renamed(code, stands_for)
        kind = kinds.get(name), tuple(stands_for.get(other, other) for other in beside.get(name, ()))
        content = (kind, own.digest, own.names, own.outer.tobytes(), own.inner.tobytes())
        equal = first.setdefault(content, name)
        stands_for[name] = name if name in named_before else equal
        if stands_for[name] == name:
            kept[name] = own
    return kept, stands_for


def _renamed(code: Code, stands_for: Mapping[str, str]) -> Code:
    """The code with the names of the rules that stand for those that it names."""
    names = tuple(stands_for.get(name, name) for name in code.names)
    if names == code.names:
        return code
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    new = np.array([number[name] for name in names], np.int32)

    def rows(old: Ints) -> Ints:
        return np.stack((old[:, 0], new[old[:, 1]]), axis=1)

    return replace(
        code,
        names=tuple(number),
        called=tuple(dict.fromkeys(stands_for.get(name, name) for name in code.called)),
        inlined=tuple(dict.fromkeys(stands_for.get(name, name) for name in code.inlined)),
        outer=rows(code.outer),
        inner=rows(code.inner),
    )
