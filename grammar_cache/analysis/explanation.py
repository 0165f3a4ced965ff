"""Explanation why a token may follow a text or may not: the grammar forbids it, the budget does, or a limit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from grammar_cache.analysis.next_texts import next_texts
from grammar_cache.distances.additive import INFINITE
from grammar_cache.grammar import CompiledGrammar

SHOWN_CHARACTERS = 40
"""Characters at the end of a text that a message repeats."""

Reason: TypeAlias = Literal["grammar", "budget", "limit"]
"""Causes that keep a token out. `limit`: reading it costs more than `Limits.byte_cost`, whatever the grammar says."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Verdict on a token, as masks have it.

    `reason`: what forbids it; None: nothing. `distance`: tokens that a complete text still needs behind it, at most;
    None where the grammar forbids it or a limit does. `next`: what may come in its place by the grammar; see
    `next_texts`. `may_end`: whether the text may end before it.
    """

    allowed: bool
    reason: Reason | None
    message: str
    distance: int | None
    next: tuple[str, ...]
    may_end: bool


def explain(
    grammar: CompiledGrammar, configuration: int, token: int, budget: int | None = None, *, text: bytes | None = None
) -> Explanation:
    """Explanation of a token at a configuration with `budget` tokens left, itself included; None: without a bound.

    `text`: what led there, for the message. Raises IndexError for an id beyond the vocabulary, LimitExceeded.
    """
    vocabulary, before = grammar.vocabulary, text or b""
    if not 0 <= token < vocabulary.size:
        raise IndexError(f"token id {token} is outside a vocabulary of {vocabulary.size}")
    may_end = grammar.accepts(configuration)
    following = next_texts(grammar, configuration)
    if token in vocabulary.stop_ids:
        message = "the text is complete and may end" if may_end else _unfinished(before, following)
        reason: Reason | None = None if may_end else "grammar"
        return Explanation(may_end, reason, message, 0 if may_end else None, following, may_end)
    if not grammar.mask(configuration)[token]:
        reason, at, message = _forbidden(grammar, configuration, token, before)
        return Explanation(False, reason, message, None, next_texts(grammar, at), grammar.accepts(at))
    after = np.array([grammar.take(configuration, token)], np.int32)
    if budget is None:
        distance = int(grammar.distances(after, INFINITE - 1)[0])
        return Explanation(True, None, f"fits the grammar, needs {_tokens(1 + distance)}", distance, following, may_end)
    if grammar.mask(configuration, budget)[token]:
        distance = int(grammar.distances_behind(configuration, after, budget - 1)[0])
        message = f"fits the grammar, needs {_tokens(1 + distance)}, {_left(budget)}"
        return Explanation(True, None, message, distance, following, may_end)
    # No completion is known that fits, whatever another search may find.
    distance = max(budget, int(grammar.distances(after, INFINITE - 1)[0]))
    message = f"fits the grammar, needs {_tokens(1 + distance)}, {_left(budget)}"
    return Explanation(False, "budget", message, distance, following, may_end)


def leaves_at(grammar: CompiledGrammar, configuration: int, data: bytes) -> tuple[int, int]:
    """Number of bytes until a text leaves the language, all of them if it doesn't, and the configuration there."""
    for place in range(len(data)):
        after = grammar.consume_bytes(configuration, data[place : place + 1])
        if after is None:
            return place, configuration
        configuration = after
    return len(data), configuration


def stops(grammar: CompiledGrammar, at: int, text: bytes, refused: bytes) -> tuple[Reason, str]:
    """Reason why bytes can't be read behind a text, which has led to `at`, and the message."""
    if grammar.is_dear(at):
        return "limit", _costly(text, refused)
    ways = [quoted(one) for one in next_texts(grammar, at)]
    ways += ["the end of the text"] if grammar.accepts(at) else []
    instead = f"next could be {_listed(ways)}" if ways else "nothing could come next"
    return "grammar", f"the grammar forbids {_shown(refused)} after {_shown(text)}: {instead}"


def quoted(text: str) -> str:
    """A text between quotation marks, as JSON has it."""
    return json.dumps(text, ensure_ascii=False)


def _forbidden(grammar: CompiledGrammar, configuration: int, token: int, text: bytes) -> tuple[Reason, int, str]:
    """Reason why a token can't follow, the configuration at which it leaves the language, and the message."""
    data = grammar.vocabulary.spelling[token]
    if data is None:
        return "grammar", configuration, f"token {token} is a special one, which spells no text"
    read, at = leaves_at(grammar, configuration, data)
    if read < len(data):
        reason, message = stops(grammar, at, text + data[:read], data[read:])
        return reason, at, message
    if grammar.distances(np.array([at], np.int32), INFINITE - 1)[0] < INFINITE:  # its bytes are read one by one
        return "limit", configuration, _costly(text, data)
    known = f"no complete text is known that begins with {_shown(text + data)}"
    return "grammar", configuration, f"{known} and that this model's tokens spell"


def _costly(text: bytes, data: bytes) -> str:
    """Message about bytes that cost too much to read behind a text."""
    cost = f"reading {_shown(data)} after {_shown(text)} costs more than `byte_cost` allows"
    return f"{cost}: the grammar is very ambiguous here, and only the shortest known completion goes on"


def _tokens(count: int) -> str:
    return "1 token" if count == 1 else f"{count} tokens"


def _left(count: int) -> str:
    return "1 is left" if count == 1 else f"{count} are left"


def _unfinished(text: bytes, following: tuple[str, ...]) -> str:
    return f"the text isn't complete after {_shown(text)}: next could be {_listed([quoted(one) for one in following])}"


def _shown(text: bytes) -> str:
    decoded = text.decode(errors="replace")
    return quoted(decoded if len(decoded) <= SHOWN_CHARACTERS else "…" + decoded[-SHOWN_CHARACTERS:])


def _listed(ways: list[str]) -> str:
    return " or ".join([", ".join(ways[:-1]), ways[-1]] if len(ways) > 1 else ways)
