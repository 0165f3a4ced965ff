"""Controls: a state of the network together with the lexer context in which it is read, as one integer.

The first are the states themselves, in context 0; `exit` is one more, which nothing leaves. Others are numbered as
they are met. This module knows no stack.
"""

from __future__ import annotations

from collections.abc import Iterable

from grammar_cache.errors import LimitExceeded
from grammar_cache.lexeme import DEAD, FATAL
from grammar_cache.lexer.contexts import Contexts
from grammar_cache.network.network import Network

Moves = tuple[tuple[int, int], ...]
ByTarget = list[tuple[int, list[int]]]


class Controls:
    """Lists by control: `state`, `context`, `calls` (rule, return state), `final`, `live` (can go on by itself), and
    `ending`: the context behind what ends here.
    """

    def __init__(self, network: Network, contexts: Contexts, limit: int) -> None:
        self._network = network
        self.contexts = contexts
        self._limit = limit
        states, count = network.states, network.states.count
        final = states.final.tolist()
        self.exit = count
        self.state = list(range(count + 1))
        self.context = [0] * (count + 1)
        self.calls = [*states.calls(), ()]
        self.final = [*final, False]
        self.live = [*states.live.tolist(), True]
        self.ending = [0] * (count + 1)
        if network.lexed:
            self.ending[:count] = [contexts.closed(0, s) if ends else 0 for s, ends in enumerate(final)]
        self._moves: list[Moves | None] = [None] * count + [()]
        self._by_target: list[ByTarget | None] = [None] * count + [[]]
        self._numbers: dict[tuple[int, int], int] = {}

    def entry(self, rule: int, context: int) -> int:
        """The control in which a rule begins."""
        if rule == self._network.lexer:
            return self.number(self._network.lexer_entries[self.contexts.lexer(context)], context)
        return self.number(self._network.entry[rule], context)

    def number(self, state: int, context: int) -> int:
        """The control of a state, or of a return, in a context; DEAD where the return isn't open to it.

        Raises LimitExceeded(configurations).
        """
        if not context:
            return state
        key = (state, context)
        number = self._numbers.get(key)
        if number is None:
            if state > self.exit:
                number = self._numbers[key] = self._returned(state, context)
                return number
            number = len(self.state)
            if number >= self._limit:
                raise LimitExceeded(f"more than {self._limit} states in lexer contexts", limit="configurations")
            self._numbers[key] = number
            self.state.append(state)
            self.context.append(context)
            self.calls.append(self.calls[state])
            self.final.append(self.final[state])
            self.ending.append(self.contexts.closed(context, state) if self.final[state] else 0)
            self.live.append(self.live[state])
            self._moves.append(() if state == self.exit else None)
            self._by_target.append([] if state == self.exit else None)
        return number

    def _returned(self, state: int, context: int) -> int:
        back = self._network.returns[state - self.exit - 1]
        context = self.contexts.shifted(context, back.shift.label, back.shift.lexer)
        return DEAD if context == DEAD else self.number(back.state, context)

    def moves(self, control: int) -> Moves:
        """Pairs (byte class, control after it)."""
        moves = self._moves[control]
        if moves is None:
            context, found = self.context[control], []
            for c, target in self._network.states.moves(self.state[control]):
                after = self.contexts.step(context, c)
                if after != FATAL:
                    found.append((c, self.number(target, after)))
            moves = self._moves[control] = tuple(found)
        return moves

    def by_target(self, control: int) -> ByTarget:
        """Each control that a byte leads to, with the classes of the bytes that do."""
        found = self._by_target[control]
        if found is None:
            found = self._by_target[control] = _by_target(self.moves(control))
        return found


def _by_target(moves: Iterable[tuple[int, int]]) -> ByTarget:
    classes: dict[int, list[int]] = {}
    for c, target in moves:
        classes.setdefault(target, []).append(c)
    return list(classes.items())
