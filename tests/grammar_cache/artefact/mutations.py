"""Artefacts that somebody has tampered with, checksum and all, and walks through the grammars that they still are.

`python -m tests.grammar_cache.artefact.mutations COUNT [SEED]` tries so many. With NUMBA_BOUNDSCHECK=1 (and a
NUMBA_CACHE_DIR of its own) every index of the compiled loops is checked.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammar_cache import CompiledGrammar, Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.artefact.artefact import from_bytes, to_bytes
from grammar_cache.compile import compile_expression
from grammar_cache.errors import ArtefactError, LimitExceeded
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Repeat, Seq, char_class
from grammar_cache.grammars.shipped import shipped

LIMITS = Limits(start_fuel=2_000_000, step_fuel=20_000, configurations=20_000)
SCHEMA = (
    '{"type": "object", "properties": {"name": {"type": "string", "maxLength": 30}, "size": {"type": "integer"}, '
    '"tags": {"type": "array", "items": {"enum": ["a", "b"]}}, "more": {"$ref": "#"}}, '
    '"required": ["name"], "additionalProperties": false}'
)
UNIQUE = (
    '{"type": "array", "items": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}, '
    '"uniqueItems": true}, "b": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true, "maxItems": 3}}}}'
)
UNIQUE_IN_UNIQUE = (
    '{"type": "array", "uniqueItems": true, "items": {"type": "object", "properties": {"a": {"type": "integer"}, '
    '"b": {"type": "array", "items": {"enum": ["a", "ab", "b", 1, 2, 3, 4, 5]}, "uniqueItems": true}}}}'
)
REQUIRED = '{"type": "array", "items": {"type": "string", "maxLength": 3}, "uniqueItems": true, "minItems": 3}'
LARK = (
    'start: sum\nsum: sum "+" atom | atom\natom: INT | NAME | "(" sum ")"\nINT: /[0-9]+/\nNAME: /[a-z]+/\n%ignore " "\n'
)
SOURCES: Mapping[str, Constraint] = {
    "schema": Constraint("json_schema", SCHEMA),
    "left recursion": Constraint(
        "gbnf", 'root ::= root "+" term | term\nterm ::= term "*" [0-9] | "(" root ")" | [0-9]'
    ),
    "sql": shipped("sql"),
    "dynamic": Constraint("lark", LARK),
    "contextual": Constraint("lark", LARK, lexer="contextual"),
    "unwatched": Constraint("lark", 'start: A start B | A\nA: "a"\nB: "bb"\n'),
    "unique": Constraint("json_schema", UNIQUE),
    "unique in unique": Constraint("json_schema", UNIQUE_IN_UNIQUE),
    "required": Constraint("json_schema", REQUIRED),
}
_LONG = Bytes(b"x" * 30)
_PART = Seq((_LONG, Alt((Bytes(b"ab"), Bytes(b"cd")))))
SPANNING = Grammar({"s": Repeat(Seq((Ref("part"), char_class([(0x61, 0x62)]))), 3, 3), "part": _PART}, "s")
"""No tokens end where parts end, so that no additive distance is known, and the exact search finds all there is."""
SPANS = Vocabulary([_LONG.data + b"a", _LONG.data + b"c", b"ba", b"bb", b"da", b"db"], [6])
Arrays = dict[str, NDArray[Any]]
Mutation = Callable[[dict[str, Any], Arrays, random.Random], None]


def letters() -> Vocabulary:
    """Bytes, some longer tokens, and an end."""
    longer = [
        b'{"',
        b'":',
        b'", "',
        b'"}',
        b"ame",
        b"SELECT ",
        b" FROM ",
        b"12",
        b"((",
        b"))",
        b"+1",
        b"ab",
        b"bb",
        b"a b",
    ]
    return Vocabulary([*(bytes([byte]) for byte in range(256)), *longer], [256 + len(longer)])


@cache
def sources() -> tuple[tuple[bytes, Vocabulary], ...]:
    """Artefacts of all kinds, and what they are for."""
    vocabulary = letters()
    found = [compile_grammar(constraint, vocabulary, LIMITS) for constraint in SOURCES.values()]
    return tuple((to_bytes(one), one.vocabulary) for one in (*found, compile_expression(SPANNING, SPANS, LIMITS)))


def taken_apart(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """The header and copies of the arrays, by what the format is said to be."""
    what, version, length = struct.unpack_from("<8sII", data)
    assert (what, version) == (b"swyb-cfg", 6)
    header = json.loads(data[16 : 16 + length])
    arrays = {}
    for name, listed in header["arrays"].items():
        size = int(np.prod(listed["shape"]))
        found = np.frombuffer(data, listed["dtype"], size, 16 + length + listed["offset"])
        arrays[name] = found.reshape(listed["shape"]).copy()
    return header, arrays


def listed(arrays: Arrays) -> tuple[dict[str, Any], bytes]:
    """Entries of the header for these arrays, and their bytes."""
    table, body = {}, b""
    for name, array in sorted(arrays.items()):
        table[name] = {"dtype": array.dtype.str, "shape": list(array.shape), "offset": len(body)}
        body += array.tobytes() + bytes(-array.nbytes % 8)
    return table, body


def assembled(header: object, body: bytes, what: bytes = b"swyb-cfg", version: int = 6) -> bytes:
    """An artefact of this header as it is, with the right checksum."""
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    whole = struct.pack("<8sII", what, version, len(text)) + text + body
    return whole + sha256(whole).digest()


def mutated(data: bytes, draw: random.Random) -> bytes:
    """One to four changes of values, sizes or structure; or any change of the header or of the bytes."""
    header, arrays = taken_apart(data)
    kind = draw.random()
    if kind < 0.1:
        changed = bytearray(data[:-32])
        for _ in range(draw.randint(1, 3)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        cut = changed[: draw.choice([len(changed), len(changed), draw.randrange(len(changed))])]
        return bytes(cut) + sha256(cut).digest()
    chosen = draw.choices(_MUTATIONS, k=draw.choice([1, 1, 2, 4]))
    for mutation in sorted(chosen, key=lambda one: one is _size):  # the others count on as many as there are
        mutation(header, arrays, draw)
    header["arrays"], body = listed(arrays)
    if kind < 0.2:
        _any_value(header, draw)
    return assembled(header, body)


def _any_value(header: dict[str, Any], draw: random.Random) -> None:
    """Something in the header becomes something else."""
    within = draw.choice([header, header, header["arrays"], draw.choice(list(header["arrays"].values()))])
    key = draw.choice(list(within))
    values = [None, True, -1, 0, 7, 1 << 70, 0.5, "x", [], [0], [1 << 70], {}, "<i8", "|O", within[key]]
    within[key] = draw.choice(values)
    if draw.random() < 0.1:
        del within[key]


def _unique(header: dict[str, Any], arrays: Arrays, draw: random.Random) -> None:
    """Rules of unique items become others, more or fewer."""
    unique, rules = header["unique"], len(arrays["entry"])
    if unique and draw.random() < 0.7:
        one = draw.choice(unique)
        one = one[3] if isinstance(one[3], list) and draw.random() < 0.5 else one
        one[draw.randrange(len(one))] = draw.choice([None, 0, 2, 10**30, [], *range(rules), [*range(1, min(rules, 4))]])
    elif unique and draw.random() < 0.5:
        unique.pop(draw.randrange(len(unique)))
    else:
        unique.append([draw.randrange(rules), draw.randrange(rules), draw.choice([None, 2]), None])
        unique.sort(key=str)


def _value(header: dict[str, Any], arrays: Arrays, draw: random.Random) -> None:
    """Any value of any array, large or small."""
    array = arrays[draw.choice([name for name in sorted(arrays) if arrays[name].size])].reshape(-1)
    at = draw.randrange(len(array))
    old = int(array[at])
    if array.dtype.itemsize == 1:
        array.view(np.uint8)[at] = draw.choice([0, 1, 2, 255, (old + 1) % 256, draw.randrange(256)])
        return
    states = len(arrays["final"])
    near = [old - 1, old + 1, -1, -2, 0, states - 1, states, states + 1, len(array), draw.randrange(states)]
    array[at] = max(-(1 << 31), min((1 << 31) - 1, draw.choice([*near, *near, (1 << 31) - 1, -(1 << 31)])))


def _size(header: dict[str, Any], arrays: Arrays, draw: random.Random) -> None:
    """An array becomes longer or shorter."""
    name = draw.choice(sorted(arrays))
    array = arrays[name]
    longer = np.concatenate([array, array[:1]]) if len(array) else np.zeros((1, *array.shape[1:]), array.dtype)
    arrays[name] = draw.choice([longer, array[:-1], array[:0], array[1:]])


def _exchange(header: dict[str, Any], arrays: Arrays, draw: random.Random) -> None:
    """Two values of an array change places."""
    array = arrays[draw.choice([name for name in sorted(arrays) if arrays[name].size])].reshape(-1)
    a, b = draw.randrange(len(array)), draw.randrange(len(array))
    array[a], array[b] = array[b], array[a]


def _redirect(header: dict[str, Any], arrays: Arrays, draw: random.Random) -> None:
    """A move or a call leads to another state of its rule, or to another rule."""
    name = draw.choice(["move_to", "call_back", "call_rule"])
    array, entry = arrays[name], arrays["entry"]
    if not len(array):
        return
    at = draw.randrange(len(array))
    if name == "call_rule":
        array[at] = draw.randrange(len(entry))
    elif array[at] < len(arrays["final"]):
        array[at] = _beside(int(array[at]), arrays, draw)


def _beside(state: int, arrays: Arrays, draw: random.Random) -> int:
    """A state of the same rule."""
    bounds = [*arrays["entry"].tolist(), len(arrays["final"])]
    rule = int(np.searchsorted(bounds, state, "right")) - 1
    if not 0 <= rule < len(bounds) - 1 or bounds[rule] >= bounds[rule + 1]:
        return state
    return draw.randrange(bounds[rule], bounds[rule + 1])


def _new_call(header: dict[str, Any], arrays: Arrays, draw: random.Random) -> None:
    """A state calls one more rule: recursion of every kind."""
    state, rule = draw.randrange(len(arrays["final"])), draw.randrange(len(arrays["entry"]))
    if draw.random() < 0.5:
        state = int(draw.choice(arrays["entry"].tolist()))
    first = arrays["call_first"]
    if not 0 <= state < len(first) - 1 or not 0 <= first[state] <= first[state + 1] <= len(arrays["call_rule"]):
        return
    at = int(first[state] + np.searchsorted(arrays["call_rule"][first[state] : first[state + 1]], rule))
    for name, value in (("call_rule", rule), ("call_back", _beside(state, arrays, draw))):
        if at <= len(arrays[name]):
            arrays[name] = np.insert(arrays[name], at, value)
    first[state + 1 :] += 1


def _flip(header: dict[str, Any], arrays: Arrays, draw: random.Random) -> None:
    """States end, or end no more; so do other facts."""
    if draw.random() < 0.2:
        header["nullable"] = not header["nullable"]
        return
    flags = arrays["final"].view(np.uint8)
    for _ in range(draw.randint(1, 5)):
        if len(flags):
            flags[draw.randrange(len(flags))] ^= 1


_MUTATIONS: tuple[Mutation, ...] = (
    _value, _value, _size, _exchange, _redirect, _redirect, _redirect, _new_call, _new_call, _flip, _flip, _unique
)  # fmt: skip


def walk(grammar: CompiledGrammar, draw: random.Random) -> str:
    """All that decoding asks for. Whatever the language is, answers are complete within the least budget.

    Says how it ended: at a limit, as may happen with any grammar, or well.
    """
    try:
        configuration, text = grammar.start, list[int]()
        ids = np.arange(-1, grammar.vocabulary.size + 1, dtype=np.int32)
        budget_of_all = grammar.minimum.tokens + (10 if grammar.network.unique else 0)
        for left in range(budget_of_all, 0, -1):
            if grammar.accepts(configuration) or len(text) == 12:
                break
            for budget in (None, left + 3, left):
                viable = np.flatnonzero(grammar.mask(configuration, budget)).tolist()
            after = grammar.consume_batch(np.array([configuration, grammar.start], np.int32), np.stack([ids, ids]))
            fits = grammar.distances_behind(configuration, after[0], left - 1)
            assert sorted(set(viable) - set(grammar.vocabulary.stop_ids)) == ids[fits < left].tolist()
            assert viable, "within the least budget there is always a way on"
            assert grammar.only_token(configuration, left) in (None, viable[0])
            grammar.proposals(configuration)
            text.append(draw.choice([token for token in viable if token not in grammar.vocabulary.stop_ids]))
            configuration = int(after[0, text[-1] + 1])
        finish(grammar, configuration, budget_of_all - len(text))
    except LimitExceeded:
        return "walked to a limit"
    return "walked"


def finish(grammar: CompiledGrammar, configuration: int, most: int) -> None:
    """Follows the witness: it ends within the distance, and within as many tokens as are left."""
    distance, witness = grammar.distance(configuration), grammar.witness(configuration)
    assert distance is not None and len(witness) <= distance <= most
    for token in witness:
        after = grammar.consume(configuration, token)
        assert after is not None
        configuration = after
    assert grammar.accepts(configuration)


def outcome(data: bytes, vocabulary: Vocabulary, draw: random.Random) -> str:
    """The reason why an artefact is refused, or that it was walked."""
    try:
        grammar = from_bytes(data, vocabulary, LIMITS)
    except ArtefactError as error:
        return str(error)
    return walk(grammar, draw)


def main(count: int, seed: int) -> None:
    draw, outcomes, originals = random.Random(seed), Counter[str](), sources()
    for number in range(count):
        data, vocabulary = draw.choice(originals)
        outcomes[outcome(mutated(data, draw), vocabulary, draw)] += 1
        if number % 1000 == 999:
            print(number + 1, outcomes["walked"], flush=True)
    for reason, times in outcomes.most_common():
        print(f"{times:7} {reason}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
