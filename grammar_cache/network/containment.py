"""Containment of a string: whether some text of a network has it inside, and a shortest such text.

The language of texts that contain a string is regular: its automaton is that of Knuth, Morris and Pratt. Its product
with the network is empty or not by the same least fixpoint as a rule's shortest text (Knuth 1977, "A generalization of
Dijkstra's algorithm"): for a rule that begins at a state of the automaton, how few bytes lead it to its end, and to
which state. Bytes that the automaton doesn't tell apart are tried once.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias

from grammar_cache.network.network import Network

_OPEN = ord("[")
FUEL = 100_000
"""Steps within a rule that are looked at: half a second of Python."""


class OutOfFuel(Exception):
    """Raised where nothing was found, and not everything was looked at."""


class Step(NamedTuple):
    """A place within a rule: which one, begun at which state of the string's automaton; and the states of both now."""

    rule: int
    begun: int
    state: int
    seen: int


Summary: TypeAlias = tuple[int, int, int]
"""A rule, and the states of the string's automaton where it begins and ends."""
Origin: TypeAlias = tuple[Step, bytes | Summary] | None
"""Origin of a step: from another one by a byte or a call; None for the beginning of a rule."""


def text_containing(network: Network, part: bytes, fuel: int = FUEL) -> bytes | None:
    """A shortest text with this part, at least one byte, inside; None if there is none. Raises OutOfFuel.

    Arrays of required items that may not repeat count with one item, whichever it is.
    """
    search = _Search(network, part)
    return search.text() if search.run(fuel) else None


class _Search:
    def __init__(self, network: Network, part: bytes) -> None:
        self._states = network.states
        self._entry = network.entry
        self._calls = network.states.calls()
        self._final = network.states.final.tolist()
        self._after = _automaton(part)
        self._goal = (0, 0, len(part))
        members: dict[int, list[int]] = defaultdict(list)
        for byte, number in enumerate(network.classes.tolist()):
            members[number].append(byte)
        self._bytes = {number: _representatives(found, part) for number, found in members.items()}
        self._heap: list[tuple[int, int, Step]] = []
        self._origin: dict[Step, Origin] = {}
        self._length: dict[Step, int] = {}
        self._done: set[Step] = set()
        self._ends: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        self._waiting: dict[tuple[int, int], list[tuple[Step, int]]] = defaultdict(list)
        self._summaries: dict[Summary, Step] = {}
        required = [unique for unique in network.unique if unique.required is not None]
        self._items = {unique.rule: network.entry[unique.further] for unique in required}

    def run(self, fuel: int) -> bool:
        """Whether the start rule was seen to end with the part inside. Raises OutOfFuel."""
        self._begin(0, 0)
        while self._heap:
            if fuel <= 0:
                raise OutOfFuel
            length, _, step = heappop(self._heap)
            if step in self._done:
                continue
            self._done.add(step)
            if self._final[step.state] and self._ended(step, length):
                return True
            fuel -= 1 + self._follow(step, length)
        return False

    def text(self) -> bytes:
        """The text that the search has found."""
        found: list[bytes] = []
        todo: list[bytes | Summary] = [self._goal]
        while todo:
            piece = todo.pop()
            if isinstance(piece, bytes):
                found.append(piece)
                continue
            step = self._summaries[piece]
            while (origin := self._origin[step]) is not None:  # backwards, so that the stack has it forwards
                step, read = origin
                todo.append(read)
        return b"".join(found)

    def _begin(self, rule: int, seen: int) -> None:
        step = Step(rule, seen, self._entry[rule], seen)
        self._reach(step, 0, None)
        if rule in self._items:  # it has spare items alone, where any item may stand
            item = Step(rule, seen, self._items[rule], self._after[seen].get(_OPEN, 0))
            self._reach(item, 1, (step, bytes((_OPEN,))))

    def _reach(self, step: Step, length: int, origin: Origin) -> None:
        if step not in self._done and length < self._length.get(step, length + 1):
            self._length[step], self._origin[step] = length, origin
            heappush(self._heap, (length, len(self._length), step))

    def _ended(self, step: Step, length: int) -> bool:
        """Takes in that a rule ends here; whether it is the goal. To call one that reads nothing changes no text."""
        summary = (step.rule, step.begun, step.seen)
        if summary in self._summaries:
            return False
        self._summaries[summary] = step
        if summary == self._goal:
            return True
        self._ends[step.rule, step.begun].append((step.seen, length))
        for caller, back in self._waiting[step.rule, step.begun]:
            after = Step(caller.rule, caller.begun, back, step.seen)
            self._reach(after, self._length[caller] + length, (caller, summary))
        return False

    def _follow(self, step: Step, length: int) -> int:
        """Goes on by bytes and calls; how many."""
        moves = 0
        for number, target in self._states.moves(step.state):
            for byte in self._bytes[number]:
                moves += 1
                seen = self._after[step.seen].get(byte, 0)
                self._reach(Step(step.rule, step.begun, target, seen), length + 1, (step, bytes([byte])))
        for rule, back in self._calls[step.state]:
            moves += 1
            self._waiting[rule, step.seen].append((step, back))
            for seen, more in self._ends[rule, step.seen]:
                read = (rule, step.seen, seen)
                self._reach(Step(step.rule, step.begun, back, seen), length + more, (step, read))
            self._begin(rule, step.seen)
        return moves


def _automaton(part: bytes) -> list[dict[int, int]]:
    """Transitions by state, 0 for other bytes. In state n the last n bytes begin the part; the last state stays."""
    after: list[dict[int, int]] = [{part[0]: 1}]
    failed = 0
    for at in range(1, len(part)):
        after.append({**after[failed], part[at]: at + 1})
        failed = after[failed].get(part[at], 0)
    return [*after, dict.fromkeys(range(256), len(part))]


def _representatives(members: list[int], part: bytes) -> list[int]:
    """Bytes of the part, and one that stands for all others; printable ones first."""
    others = [byte for byte in members if byte not in part]
    printable = [byte for byte in others if 0x20 <= byte < 0x7F]
    return [*(byte for byte in members if byte in part), *(printable or others)[:1]]
