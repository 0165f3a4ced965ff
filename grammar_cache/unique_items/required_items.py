"""Required items of arrays, two or more, that may not repeat.

While others are still to follow, the item under way is a text of its own: what it may become doesn't depend on them.
They can always be written as spare items: the array has as many of these as it requires items, so that of those that
aren't among the items so far, or haven't become the one under way, there are always enough.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from grammar_cache.configurations.interner import DEAD, ROOT, Configurations
from grammar_cache.network.network import Network, RequiredRules
from grammar_cache.unique_items.open_arrays import ENTRY_BYTES, OpenArray


class RequiredItems:
    """Configurations of required items, in one table. `used`: which of the spare items of an array are among its items
    so far, as bits.
    """

    def __init__(self, configurations: Configurations) -> None:
        self._table = configurations
        network = configurations.network
        self._rules = {unique.rule: unique.required for unique in network.unique if unique.required is not None}
        self._further = {unique.rule: unique.further for unique in network.unique}
        self._texts = {rule: spare_texts(own, network) for rule, own in self._rules.items()}
        self._alone: dict[int, int] = {}
        self._completed: dict[tuple[OpenArray, int, int], int] = {}
        self._nodes: dict[tuple[int, int], int] = {}
        self._after: dict[tuple[int, int], int] = {}

    @property
    def arrays(self) -> bool:
        """Whether there are such arrays."""
        return bool(self._rules)

    def after_first(self, array: OpenArray) -> int:
        """Number of the items that have to follow the first one."""
        return len(self._texts.get(array.rule, (b"",))) - 1

    def alone(self, array: OpenArray) -> int:
        """The configuration before an item that is a text of its own."""
        known = self._alone.get(array.rule)
        if known is None:
            known = self._alone[array.rule] = self._before(self._rules[array.rule].item, ROOT)
        return known

    def used(self, array: OpenArray, used: int, text: bytes) -> int:
        """The spare items that are among the items so far, with one item more."""
        texts = self._texts[array.rule]
        return used | 1 << texts.index(text) if text in texts else used

    def is_spare(self, array: OpenArray, text: bytes) -> bool:
        """Whether an item is a spare item."""
        return text in self._texts[array.rule]

    def completed(self, array: OpenArray, used: int, count: int) -> int:
        """The configuration behind an item where so many spare items, a comma before each, and the bracket follow."""
        key = array, used, count
        known = self._completed.get(key)
        if known is None:
            first, *others = self.following(array, used, count)
            node = array.node
            for rule in reversed((*others, self._rules[array.rule].end)):
                node = self._over(rule, node)
            known = self._completed[key] = self._before(first, node)
        return known

    def read_before(self, array: OpenArray, configuration: int) -> bytes | None:
        """Bytes that the array's own rule has read at a configuration, behind the bracket and white space; None in the
        rule of further items.
        """
        rule, states = self._table.network.states.rule, [state for state, _ in self._table.items(configuration)]
        if any(rule[state] == self._further[array.rule] for state in states):
            return None
        whole = b",".join(self._texts[array.rule]) + b"]"
        try:
            read = whole.removesuffix(only_text(self._table.network, states[0]))
        except ValueError:
            return b""  # white space may follow
        return b"" if len(states) > 1 or rule[states[0]] != array.rule else read

    def after(self, configuration: int, byte: int) -> int:
        """The configuration of spare items after a byte, or DEAD. There is room for it beyond the limit."""
        known = self._after.get((configuration, byte))
        if known is None:
            known = DEAD if configuration == DEAD else self._table.step_reserved(configuration, byte)
            self._after[configuration, byte] = known
        return known

    def following(self, array: OpenArray, used: int, count: int) -> list[int]:
        """Rules of so many spare items that aren't among the items so far. The last ones, so that they are those behind
        the next item too.
        """
        return [rule for at, rule in enumerate(self._rules[array.rule].spares) if not used >> at & 1][-count:]

    def before_end(self, array: OpenArray) -> int:
        """The configuration behind the last item, where the bracket follows."""
        return self._before(self._rules[array.rule].end, array.node)

    def spare(self, rule: int) -> int:
        """The configuration before a spare item and its comma, as a text of its own."""
        return self._before(rule, ROOT)

    def either(self, one: int, other: int) -> int:
        """The configuration of two ways to go on, either of which may be DEAD."""
        if DEAD in (one, other) or one == other:
            return max(one, other)
        items: Iterable[tuple[int, int]] = {*self._table.items(one), *self._table.items(other)}
        accepting = self._table.accepts(one) or self._table.accepts(other)
        return self._table.of_items(items, accepting=accepting, reserved=True)

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        entries = len(self._alone) + len(self._completed) + len(self._nodes) + len(self._after)
        return ENTRY_BYTES * entries

    def _over(self, rule: int, node: int) -> int:
        """The node from which a rule goes on, over another one."""
        known = self._nodes.get((rule, node))
        if known is None:
            known = self._nodes[rule, node] = self._table.over(self._table.network.entry[rule], node)
        return known

    def _before(self, rule: int, node: int) -> int:
        return self._table.of_items([(self._table.network.entry[rule], node)], accepting=False, reserved=True)


def spare_texts(rules: RequiredRules, network: Network) -> tuple[bytes, ...]:
    """Texts of the spare items, without the comma before each. Raises ValueError where a rule has not one text."""
    return tuple(only_text(network, network.entry[rule])[1:] for rule in rules.spares)


def only_text(network: Network, state: int) -> bytes:
    """The text of a rule from a state on, where it has one. Raises ValueError where it has not."""
    states, text = network.states, bytearray()
    while not states.final[state]:
        moves = states.moves(state)
        read = np.flatnonzero(np.isin(network.classes, [of for of, _ in moves]))
        if len(read) != 1 or len(text) > states.count or states.call_first[state] < states.call_first[state + 1]:
            raise ValueError("a spare item has not one text")
        text.append(int(read[0]))
        state = moves[0][1]
    return bytes(text)
