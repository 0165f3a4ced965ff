"""A network as flat arrays, and back where they may be anybody's.

What follows from the rest doesn't travel but is made again: the rules of states, tails, left-call components, and the
contents of rules. The last are the keys of what grammars share (see `parts`), so a wrong one would change other
grammars. Compiled loops check no bounds, so here every index is checked against what it points into. What is read may
be another network than anyone would build, but each step in it stays inside of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammar_cache.array_bytes import Kinds
from grammar_cache.array_checks import ascends, divides, require, within
from grammar_cache.components import components
from grammar_cache.dfa import Dfa
from grammar_cache.lexeme import FATAL, HARMLESS, Shift
from grammar_cache.lexical import Watched
from grammar_cache.network import Content, Network, Return
from grammar_cache.recurring import Reduced
from grammar_cache.states import States
from grammar_cache.subsets import CALL

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
"""Of the arrays: those of `States`, `Watched` and `Return`; a `return_lexer` of -1 stays with the one in force."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What of a network is no array."""

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


def network_of(arrays: Mapping[str, NDArray[Any]], facts: Facts, limit: int) -> Network:
    """The network of arrays of these `KINDS`, at most `limit` states. Raises ArtefactError."""
    class_count = _class_count(arrays["classes"])
    entry, count = arrays["entry"], len(arrays["final"])
    require(0 < count <= limit, f"there are {count} states, and {limit} may be")
    starts_well = len(entry) > 0 and entry[0] == 0 and bool((entry[1:] > entry[:-1]).all())
    require(starts_well and entry[-1] < count, "rules don't divide the states")
    states = _states(arrays, class_count)
    lexer = len(entry) - 1 if len(arrays["lexer_entries"]) else -1
    _check_calls(states, arrays, lexer)
    _check_lexer(states, arrays, facts, lexer)
    require(len(facts.rule_names) == len(entry) - (lexer >= 0), "rules and their names are not as many")
    begins, first = entry.tolist(), states.call_first
    component, cyclic = components([states.call_rule[first[e] : first[e + 1]].tolist() for e in begins])
    made = Network(
        classes=arrays["classes"],
        class_count=class_count,
        states=states,
        entry=tuple(begins),
        tail=tuple((states.final & ~states.live).tolist()),
        component=component,
        cyclic=cyclic,
        nullable=facts.nullable,
        rule_names=facts.rule_names,
        watched=_watched(arrays, count, class_count),
        lexer=lexer,
        lexer_entries=tuple(arrays["lexer_entries"].tolist()),
        lexer_start=facts.lexer_start,
        returns=_returns(arrays),
        contents=(),
    )
    return made if made.lexed else replace(made, contents=_contents(made))


def _class_count(classes: NDArray[np.uint8]) -> int:
    """How many there are. They are numbered by first byte."""
    require(len(classes) == 256, "not every byte has a class")
    new = np.maximum.accumulate(classes.astype(np.int32))
    require(classes[0] == 0 and (np.diff(new) <= 1).all(), "the byte classes are not numbered by their first bytes")
    return int(new[-1]) + 1


def _states(arrays: Mapping[str, NDArray[Any]], class_count: int) -> States:
    """Moves are deterministic, in canonical order, and stay within their rule."""
    count = len(arrays["final"])
    rule = np.repeat(
        np.arange(len(arrays["entry"]), dtype=np.int32), np.diff(np.append(arrays["entry"], np.int32(count)))
    )
    first, of, to = (arrays[name] for name in ("move_first", "move_class", "move_to"))
    require(len(of) == len(to) and divides(first, count, len(to)), "states don't divide the moves")
    require(within(of, 0, class_count) and within(to, 0, count), "a move leads nowhere")
    require(ascends(of, first), "the moves of a state are not in order")
    require((rule[to] == np.repeat(rule, np.diff(first))).all(), "a move leaves its rule")
    calls = arrays["call_first"], arrays["call_rule"], arrays["call_back"]
    return States(first, of, to, *calls, arrays["final"], rule)


def _check_calls(states: States, arrays: Mapping[str, NDArray[Any]], lexer: int) -> None:
    """Calls return to their own rule; those of the lexer, and no others, by way of a `Return`."""
    first, rules, back = states.call_first, states.call_rule, states.call_back
    opened = arrays["return_state"]
    require(len(rules) == len(back) and divides(first, states.count, len(back)), "states don't divide the calls")
    require(within(rules, 0, len(arrays["entry"])), "a rule that is called isn't there")
    require(within(opened, 0, states.count), "a return leads nowhere")
    behind = np.concatenate([np.arange(states.count, dtype=np.int32), np.full(1, -1, np.int32), opened])
    require(within(back, 0, len(behind)) and within(behind[back], 0, states.count), "a call returns nowhere")
    require((states.rule[behind[back]] == np.repeat(states.rule, np.diff(first))).all(), "a call leaves its rule")
    require(((back > states.count) == (rules == lexer)).all(), "a return is not that of a call of the lexer")
    require(lexer >= 0 or ascends(rules, first), "the calls of a state are not in order")


def _check_lexer(states: States, arrays: Mapping[str, NDArray[Any]], facts: Facts, lexer: int) -> None:
    """The lexer calls nothing. Without one there is nothing of it."""
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


def _contents(network: Network) -> tuple[Content, ...]:
    """As they were when the network was built: calls stand behind moves, and automata are reduced to their classes."""
    states = network.states
    tails = [np.repeat(np.arange(states.count), np.diff(first)) for first in (states.move_first, states.call_first)]
    order = np.argsort(np.concatenate(tails), kind="stable")
    labels = np.concatenate([states.move_class, states.call_rule + np.int32(CALL)])[order]
    heads = np.concatenate([states.move_to, states.call_back])[order]
    first = states.move_first + states.call_first
    bounds = (*network.entry, states.count)
    found = []
    for begin, past in pairwise(bounds):
        own, final = slice(first[begin], first[past]), states.final[begin:past]
        dfa = Dfa(first[begin : past + 1] - first[begin], labels[own], heads[own] - np.int32(begin), final)
        found.append(_content(dfa, network.classes))
    return tuple(found)


def _content(dfa: Dfa, classes: NDArray[np.uint8]) -> Content:
    if dfa.size == 1 and not len(dfa.labels) and not dfa.final[0]:
        return Content(b"", ())  # a rule without any text
    reduced = Reduced.of(dfa, classes)
    return Content(reduced.digest, reduced.called)
