"""A network as flat arrays, and back where they may be anybody's.

What follows from the rest doesn't travel but is made again: the rules of states, tails, left-call components, and the
contents of rules. The last are the keys of what grammars share (see `parts`), so a wrong one would change other
grammars. Compiled loops check no bounds, so here every index is checked against what it points into. The network that
is read may be one that nobody would build, but each step in it stays inside of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.strong_components import components
from grammar_cache.arrays.checks import require, within
from grammar_cache.arrays.format import Kinds
from grammar_cache.artefact.network_checks import (
    CALLS,
    MOVES,
    class_count,
    reduced_rules,
    rules_of,
    wrong_calls,
    wrong_moves,
)
from grammar_cache.lexeme import FATAL, HARMLESS, Shift
from grammar_cache.network.lexemes import Watched
from grammar_cache.network.network import Content, Network, Return
from grammar_cache.network.states import States

KINDS: Kinds = {
    "classes": ("|u1", 1),
    **dict.fromkeys(("move_first", "move_class", "move_to", "call_first", "call_rule", "call_back"), ("<i4", 1)),
    "final": ("|b1", 1),
    "entry": ("<i4", 1),
    **dict.fromkeys(("closes", "labels"), ("<i4", 1)),
    "watches": ("<i4", 2),
    "watch_ends": ("|b1", 1),
    **dict.fromkeys(("lexer_entries", "return_state", "return_label", "return_lexer"), ("<i4", 1)),
}
"""Kinds of the arrays: those of `States`, `Watched` and `Return`; a `return_lexer` of -1 stays with the one in force.
"""


@dataclass(frozen=True, slots=True)
class NetworkHeader:
    """Fields of a network that are no arrays."""

    nullable: bool
    lexer_start: int
    rule_names: tuple[str, ...]


def arrays_of(network: Network) -> dict[str, NDArray[Any]]:
    """All that can't be made again, by the names of `KINDS`."""
    states, watched, returns = network.states, network.watched, network.returns
    listed = {
        "entry": network.entry,
        "closes": watched.closes,
        "labels": watched.labels,
        "lexer_entries": network.lexer_entries,
        "return_state": [back.state for back in returns],
        "return_label": [back.shift.label for back in returns],
        "return_lexer": [-1 if back.shift.lexer is None else back.shift.lexer for back in returns],
    }
    return {
        "classes": network.classes,
        "move_first": states.move_first,
        "move_class": states.move_class,
        "move_to": states.move_to,
        "call_first": states.call_first,
        "call_rule": states.call_rule,
        "call_back": states.call_back,
        "final": states.final,
        "watches": watched.watches.astype(np.int32),
        "watch_ends": np.array(watched.ends, np.bool_),
        **{name: np.array(values, np.int32) for name, values in listed.items()},
    }


def network_of(arrays: Mapping[str, NDArray[Any]], facts: NetworkHeader, limit: int) -> Network:
    """The network of arrays of these `KINDS`, at most `limit` states. Raises ArtefactError."""
    count_of_classes = _class_count(arrays["classes"])
    entry, count = arrays["entry"], len(arrays["final"])
    require(0 < count <= limit, f"there are {count} states, and {limit} may be")
    starts_well = len(entry) > 0 and entry[0] == 0 and bool((entry[1:] > entry[:-1]).all())
    require(starts_well and entry[-1] < count, "rules don't divide the states")
    lexer = len(entry) - 1 if len(arrays["lexer_entries"]) else -1
    states = _states(arrays, count_of_classes, lexer)
    _check_lexer(states, arrays, facts, lexer)
    require(len(facts.rule_names) == len(entry) - (lexer >= 0), "rules and their names are not as many")
    begins, first = entry.tolist(), states.call_first
    component, cyclic = components([states.call_rule[first[e] : first[e + 1]].tolist() for e in begins])
    lexed = lexer >= 0 or len(arrays["watch_ends"]) > 0
    return Network(
        classes=arrays["classes"],
        class_count=count_of_classes,
        states=states,
        entry=tuple(begins),
        tail=tuple((states.final & ~states.live).tolist()),
        component=component,
        cyclic=cyclic,
        nullable=facts.nullable,
        rule_names=facts.rule_names,
        watched=_watched(arrays, count, count_of_classes),
        lexer=lexer,
        lexer_entries=tuple(arrays["lexer_entries"].tolist()),
        lexer_start=facts.lexer_start,
        returns=_returns(arrays),
        contents=() if lexed else _contents(states, begins, arrays["classes"]),
    )


def _class_count(classes: NDArray[np.uint8]) -> int:
    """Number of byte classes. They are numbered by first byte."""
    require(len(classes) == 256, "not every byte has a class")
    count: int = class_count(classes)
    require(count > 0, "the byte classes are not numbered by their first bytes")
    return count


def _states(arrays: Mapping[str, NDArray[Any]], classes: int, lexer: int) -> States:
    moves = arrays["move_first"], arrays["move_class"], arrays["move_to"]
    calls = arrays["call_first"], arrays["call_rule"], arrays["call_back"]
    rule, opened = rules_of(arrays["entry"], len(arrays["final"])), arrays["return_state"]
    require(within(opened, 0, len(rule)), "a return leads nowhere")
    wrong_move = wrong_moves(*moves, rule, classes)
    require(wrong_move == 0, MOVES[wrong_move])
    wrong_call = wrong_calls(*calls, rule, len(arrays["entry"]), opened, lexer)
    require(wrong_call == 0, CALLS[wrong_call])
    return States(*moves, *calls, arrays["final"], rule)


def _check_lexer(states: States, arrays: Mapping[str, NDArray[Any]], facts: NetworkHeader, lexer: int) -> None:
    """Checks that the lexer calls nothing, and that a network without a lexer has no part of one."""
    entries, labels, returns = arrays["lexer_entries"], arrays["labels"], len(arrays["return_state"])
    begins = int(arrays["entry"][lexer]) if lexer >= 0 else states.count
    require(within(entries, begins, states.count), "the lexer begins elsewhere")
    require(states.call_first[begins] == len(states.call_rule), "the lexer calls a rule")
    require(0 <= facts.lexer_start < len(entries) if lexer >= 0 else facts.lexer_start == -1, "it can't be in force")
    require(within(labels, -1, 1 << 31) and len(labels) == states.count, "a label is none")
    require(within(labels[:begins], -1, 0), "a state outside of the lexer has a label")
    numbers, after = arrays["return_label"], arrays["return_lexer"]
    require(len(numbers) == len(after) == returns, "returns and what they are open to are not as many")
    require(lexer >= 0 or not returns, "there are returns from a lexer that isn't there")
    require(within(numbers, 0, 1 << 31) and within(after, -1, len(entries)), "what a return is open to isn't there")


def _watched(arrays: Mapping[str, NDArray[Any]], count: int, class_count: int) -> Watched:
    closes, watches, ends = arrays["closes"], arrays["watches"], arrays["watch_ends"]
    require(watches.shape == (len(ends), class_count), "the table of watches has a wrong shape")
    require(within(watches.reshape(-1), FATAL, len(ends)), "a watch leads nowhere")
    require(len(closes) == count and within(closes, HARMLESS, len(ends)), "a lexeme closes into no watch")
    return Watched(tuple(closes.tolist()), tuple(arrays["labels"].tolist()), watches, tuple(ends.tolist()))


def _returns(arrays: Mapping[str, NDArray[Any]]) -> tuple[Return, ...]:
    columns = (arrays[name].tolist() for name in ("return_state", "return_label", "return_lexer"))
    return tuple(
        Return(state, Shift(label, None if lexer < 0 else lexer)) for state, label, lexer in zip(*columns, strict=True)
    )


def _contents(states: States, entry: Sequence[int], classes: NDArray[np.uint8]) -> tuple[Content, ...]:
    """Contents of the rules as they were when the network was built: calls stand behind moves, and automata are reduced
    to their classes.
    """
    bounds = (*entry, states.count)
    moves, calls = (states.move_first, states.move_class, states.move_to), (states.call_first, states.call_rule)
    columns, first, label_first, called, called_first = reduced_rules(
        np.array(bounds, np.int32), classes, *moves, *calls, states.call_back, states.final
    )
    data, all_called = columns.tobytes(), called.tolist()
    own = zip(*(pairwise(each.tolist()) for each in (first, label_first, called_first)), strict=True)
    found = []
    for (begin, past), ((begins, ends), labels, of) in zip(pairwise(bounds), own, strict=True):
        if past - begin == 1 and labels[0] == labels[1] and not states.final[begin]:
            found.append(Content(b"", ()))  # a rule without any text
            continue
        digest = blake2b(b"%d %d " % (past - begin, labels[1] - labels[0]) + data[begins:ends], digest_size=16)
        found.append(Content(digest.digest(), tuple(all_called[slice(*of)])))  # the digest of `Reduced`
    return tuple(found)
