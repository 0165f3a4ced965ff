"""Artefacts that aren't right: refused, or harmless, whoever wrote them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from itertools import product
from typing import Any

import numpy as np
import pytest

from grammar_cache import Limits, Vocabulary, compile_grammar
from grammar_cache.artefact import spare_checks
from grammar_cache.artefact.artefact import from_bytes, to_bytes
from grammar_cache.artefact.network_arrays import NetworkHeader, arrays_of, network_of
from grammar_cache.artefact.spare_checks import check_spares
from grammar_cache.errors import ArtefactError
from grammar_cache.loops.array_types import Ints
from grammar_cache.unique_items.required_items import spare_texts
from server.evaluation.methods.exploration_bound import BoundedGrammar
from tests.grammar_cache.artefact.mutations import (
    LIMITS,
    SOURCES,
    Arrays,
    assembled,
    finish,
    letters,
    listed,
    mutated,
    outcome,
    sources,
    taken_apart,
)
from tests.grammar_cache.distances.test_retokenised_minima import items
from tests.grammar_cache.distances.test_solutions import known


@pytest.fixture(scope="module")
def saved() -> tuple[bytes, Vocabulary]:
    """An artefact of a schema, and what it is for."""
    return sources()[0]


def tampered(data: bytes, change: Callable[[dict[str, Any], Arrays], object]) -> bytes:
    """The artefact with other contents and the right checksum."""
    header, arrays = taken_apart(data)
    change(header, arrays)
    header["arrays"], body = listed(arrays)
    return assembled(header, body)


def test_other_bytes_are_refused(saved: tuple[bytes, Vocabulary]) -> None:
    """Bytes are refused as such: none, others, those of another format, a part, and with any bit flipped."""
    data, vocabulary = saved
    header, arrays = taken_apart(data)
    body = listed(arrays)[1]
    assert assembled(header, body) == data
    flipped = [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(0, len(data), 997)]
    others = [b"", b"x" * 200, data[8:], data + b"\0", assembled(header, body, b"pickle\0\0"), *flipped]
    headers: list[object] = [[], None, {}, {**header, "arrays": []}, {**header, "arrays": {}}]
    others += [assembled(other, body) for other in headers]
    others += [assembled(header, body, version=1), assembled(header, body[:-8]), assembled(header, body + bytes(8))]
    nested = b"[" * 100_000
    deep = data[:12] + len(nested).to_bytes(4, "little") + nested
    for other in [*others, *(data[:size] for size in range(0, len(data), 1009)), deep + sha256(deep).digest()]:
        with pytest.raises(ArtefactError):
            from_bytes(other, vocabulary, LIMITS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("algorithm", "0"), ("vocabulary", ""), ("nullable", 1), ("rules", ["s"]),
        ("rules", "s"), ("ignored", [1]), ("least", -1), ("least", None), ("dry", 0), ("unique", None),
        ("unique", [1]), ("unique", [[1, 2]]), ("unique", [[0, 1, None, None]]), ("unique", [[1, 2, 1, None]]),
        ("unique", [[1, 99, None, None]]), ("unique", [["1", 2, None, None]]), ("unique", [[1, 1, None, None]]),
        ("unique", [[1, 2, None]]), ("unique", [[1, 2, None, 3]]), ("unique", [[1, 2, None, [3, [4], 99]]]),
    ],
)  # fmt: skip
def test_other_headers_are_refused(saved: tuple[bytes, Vocabulary], name: str, value: object) -> None:
    """Headers that don't belong to this code, or aren't of its kind, are refused."""
    data, vocabulary = saved
    with pytest.raises(ArtefactError):
        from_bytes(tampered(data, lambda header, arrays: header.update({name: value})), vocabulary, LIMITS)


def test_a_grammar_is_for_its_vocabulary_and_its_limits(saved: tuple[bytes, Vocabulary]) -> None:
    """A vocabulary or limits other than its own are refused: answers would differ. A network that isn't as compiled is,
    too.
    """
    data, vocabulary = saved
    assert from_bytes(data, vocabulary, LIMITS).minimum.tokens > 1
    other = Vocabulary(vocabulary.token_bytes, [0])
    for told, limits in ((other, LIMITS), (vocabulary, replace(LIMITS, start_fuel=7)), (vocabulary, Limits())):
        with pytest.raises(ArtefactError, match="not what this grammar was compiled with"):
            from_bytes(data, told, limits)
    grammar = from_bytes(data, vocabulary, LIMITS)
    with pytest.raises(TypeError):
        to_bytes(BoundedGrammar(grammar, 1))


def test_a_rule_of_more_states_than_there_may_be_is_refused(saved: tuple[bytes, Vocabulary]) -> None:
    """Rules have at most as many states as compiling leaves them, since reading takes what making their moves takes."""
    network = from_bytes(*saved, LIMITS).network
    arrays, header = arrays_of(network), NetworkHeader(network.nullable, network.rule_names)
    largest = int(np.diff([*network.entry, network.states.count]).max())
    assert network_of(arrays, header, replace(LIMITS, rule_states=largest)).contents == network.contents
    with pytest.raises(ArtefactError, match=f"a rule has {largest} states, and {largest - 1} may be"):
        network_of(arrays, header, replace(LIMITS, rule_states=largest - 1))


@pytest.mark.parametrize("source", range(len(SOURCES) + 1))
def test_a_language_without_texts_is_refused(source: int) -> None:
    """An artefact in which no state ends a rule isn't right: no user's grammar is to blame."""
    data, vocabulary = sources()[source]

    def change(header: dict[str, Any], arrays: Arrays) -> None:
        arrays["final"][:] = False
        header["nullable"] = False

    with pytest.raises(ArtefactError):
        from_bytes(tampered(data, change), vocabulary, LIMITS)


def test_every_index_is_checked() -> None:
    """Far too large, and below what says that there is none, at both ends of every array of numbers: refused."""
    for data, vocabulary in (sources()[4], sources()[-1]):
        arrays = taken_apart(data)[1]
        for name in [name for name in arrays if arrays[name].dtype == np.int32 and arrays[name].size]:
            for value in (-3, -(1 << 31), (1 << 31) - 1):
                for at in (0, -1):

                    def change(_: object, arrays: Arrays, name: str = name, at: int = at, to: int = value) -> None:
                        arrays[name].reshape(-1)[at] = to

                    with pytest.raises(ArtefactError):
                        from_bytes(tampered(data, change), vocabulary, LIMITS)


def check_tampering(count: int, seed: int) -> None:
    draw, originals = random.Random(seed), sources()
    outcomes = Counter(
        outcome(mutated(data, draw), vocabulary, draw) for data, vocabulary in draw.choices(originals, k=count)
    )
    assert count / 5 < outcomes["walked"] < count * 4 / 5
    for name, constraint in SOURCES.items():
        grammars = [compile_grammar(constraint, v, LIMITS) for v in (originals[0][1], letters())]
        assert grammars[0].minimum == grammars[1].minimum
        assert (grammars[0].mask(grammars[0].start) == grammars[1].mask(grammars[1].start)).all()
        assert known(grammars[0]) == known(grammars[1]), name


def test_tampering_is_refused_or_harmless() -> None:
    """Whatever is changed, checksum and all: refused, or a grammar whose answers are complete within their budget.

    Other grammars of the same vocabulary don't notice.
    """
    check_tampering(200, 0)


@pytest.mark.full
def test_tampering_is_refused_or_harmless_at_length() -> None:
    """Runs the quick test many more times."""
    check_tampering(20_000, 1)


def test_false_completions_are_refused() -> None:
    """Paths that are too short, begin elsewhere, go on, or have a string that isn't there: none is believed."""
    grammar = items(40, 120_000)
    data, vocabulary = to_bytes(grammar), grammar.vocabulary
    strings = len(vocabulary.strings)
    cuts: list[Callable[[Ints], Ints]] = [
        lambda path: path[:-1],
        lambda path: path[1:],
        lambda path: np.append(path, path[-1]),
        lambda path: np.append(path[:-1], np.int32(strings)),
    ]
    for cut in cuts:

        def change(_: object, arrays: Arrays, cut: Callable[[Ints], Ints] = cut) -> None:
            arrays["path"] = cut(arrays["path"])

        with pytest.raises(ArtefactError):
            from_bytes(tampered(data, change), vocabulary, grammar.limits)


def test_completions_that_no_search_has_the_fuel_for_are_refused() -> None:
    """A path, and levels, that are right but longer than a search comes: following them would fill the grammar."""
    path, levels = items(40, 120_000), from_bytes(*sources()[-1], LIMITS)
    for grammar, looked_at in ((path, len(path.findings.path)), (levels, int(levels.findings.level_first[-2]))):
        for fuel in (1_000 * looked_at, 1_000 * looked_at - 1):
            limits = replace(grammar.limits, start_fuel=fuel)
            header = taken_apart(to_bytes(grammar))[0] | {"limits": limits.deciding()}
            data = assembled(header, listed(taken_apart(to_bytes(grammar))[1])[1])
            if fuel == 1_000 * looked_at:
                assert from_bytes(data, grammar.vocabulary, limits).minimum == grammar.minimum
                continue
            with pytest.raises(ArtefactError, match="a search has found more than it can"):
                from_bytes(data, grammar.vocabulary, limits)


def test_spare_items_are_read_as_often_as_there_are_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare items that are named twice are refused unread, and so are all together that are longer than states are."""
    data, vocabulary = sources()[list(SOURCES).index("required")]
    network = from_bytes(data, vocabulary, LIMITS).network
    [unique] = network.unique
    assert unique.required is not None
    size = sum(map(len, spare_texts(unique.required, network)))
    check_spares(network, replace(LIMITS, states=size))
    with pytest.raises(ArtefactError, match="spare items"):
        check_spares(network, replace(LIMITS, states=size - 1))
    monkeypatch.delattr(spare_checks, "spare_texts")

    def twice(header: dict[str, Any], arrays: Arrays) -> None:
        header["unique"][0][3][1] *= 2

    with pytest.raises(ArtefactError, match="spare items"):
        from_bytes(tampered(data, twice), vocabulary, LIMITS)


def test_completions_that_are_believed_are_completions() -> None:
    """Levels with any one number another: refused, or told of completions that are there."""
    data, vocabulary = sources()[-1]
    arrays = taken_apart(data)[1]
    refused: Counter[str] = Counter()
    for name in ("level_first", "parent", "string", "onward"):
        for at, value in product(range(len(arrays[name])), range(-1, len(arrays["parent"]) + 1)):

            def change(_: object, arrays: Arrays, name: str = name, at: int = at, to: int = value) -> None:
                arrays[name][at] = to

            try:
                loaded = from_bytes(tampered(data, change), vocabulary, LIMITS)
            except ArtefactError:
                refused[name] += 1
                continue
            for configuration in range(loaded.size["configurations"]):
                if loaded._exact_search.known(configuration) is not None:
                    finish(loaded, configuration, loaded._exact_search.known(configuration) or 0)
    assert min(refused[name] / arrays[name].size for name in ("level_first", "parent", "string", "onward")) > 5
