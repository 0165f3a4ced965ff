"""A compiled grammar as bytes, for another process or for later: never a pickle, and nothing is believed unchecked.

`arrays.format` says how a header and arrays become bytes. Here the header has, beside them,

    algorithm, vocabulary, limits   what it was compiled by: ALGORITHM_VERSION, the fingerprint, `Limits.deciding`
    nullable, rules, unique         of the network; `rules` are their names, `unique` as `UniqueRule` has them
    ignored                         what a lenient schema dropped
    least, dry                      of the search for the minimum; see `minimum_replay`
    table_of                        the id that its table is for; empty without one

and the arrays are those of the network (`network_arrays.KINDS`), those of `Findings`, and the bytes of the table, if it
has one (`offline.distance_table`). All of them hold int32, uint8 or booleans. Equal grammars are equal bytes, in
whatever process and whatever they have been asked. A loaded grammar answers as the saved one: decoding uses nothing but
the network, the vocabulary, the limits, what was found, and the table.

Whoever wrote the bytes isn't trusted. Indices are checked, since compiled loops check none. The costs of states don't
travel: one that is too low would break the promise that an answer fits its budget, and what is known of one grammar's
rules serves others. They are solved here, in a millisecond or two for a JSON Schema, or looked up where the vocabulary
has met the rules. Completions are replayed before they count. An author is still free to send another language
than the one that was asked for, and to say that nothing shorter was found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammar_cache.arrays.checks import require
from grammar_cache.arrays.format import Kinds, pack, unpack
from grammar_cache.artefact.network_arrays import KINDS as NETWORK
from grammar_cache.artefact.network_arrays import NetworkHeader, arrays_of, network_of
from grammar_cache.artefact.spare_checks import check_spares
from grammar_cache.distances.minimum_replay import Findings
from grammar_cache.errors import ArtefactError, GrammarError
from grammar_cache.grammar import ALGORITHM_VERSION, CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.network.network import RequiredRules, UniqueRule
from grammar_cache.offline.distance_table import DistanceTable
from grammar_cache.offline.tabled_grammar import TabledGrammar
from grammar_cache.unique_items.unique_items_grammar import UniqueItemsGrammar, with_unique_items
from grammar_cache.vocabulary.vocabulary import Vocabulary

FORMAT = 6
"""Raised whenever the bytes of a grammar may mean something else."""
_WHAT = b"swyb-cfg"
_FOUND: Kinds = dict.fromkeys(("path", "level_first", "parent", "string", "onward"), ("<i4", 1))
_TABLE: Kinds = {"table": ("|u1", 1)}


def to_bytes(grammar: CompiledGrammar) -> bytes:
    """Searches for the minimum, if nobody has asked for it yet."""
    plain, table = (grammar.plain, grammar.table) if isinstance(grammar, TabledGrammar) else (grammar, None)
    plain = plain.plain if isinstance(plain, UniqueItemsGrammar) else plain
    if type(plain) is not CompiledGrammar:
        raise TypeError(f"a {type(grammar).__name__} has no bytes, only the grammar that it is made of")
    network, found = grammar.network, grammar.findings
    header = {
        **_dependencies(grammar.vocabulary, grammar.limits),
        "nullable": network.nullable,
        "rules": network.rule_names,
        "unique": network.unique,
        "ignored": grammar.ignored,
        "least": found.least,
        "dry": found.dry,
        "table_of": "" if table is None else table.grammar_id,
    }
    searched: dict[str, NDArray[np.int32]] = {name: getattr(found, name) for name in _FOUND}
    own = np.frombuffer(b"" if table is None else table.data, np.uint8)
    return pack(_WHAT, FORMAT, header, {**arrays_of(network), **searched, "table": own})


def from_bytes(data: bytes, vocabulary: Vocabulary, limits: Limits) -> CompiledGrammar:
    """The grammar that was saved, for the vocabulary and the limits that it was compiled for.

    Raises ArtefactError for anything that isn't a whole, right artefact.
    """
    header, arrays = unpack(data, _WHAT, FORMAT, {**NETWORK, **_FOUND, **_TABLE})
    if header.get("vocabulary") == vocabulary.special_fingerprint:
        vocabulary = vocabulary.with_special_tokens
    for name, own in _dependencies(vocabulary, limits).items():
        require(header.get(name) == own, f"{name}: not what this grammar was compiled with")
    unique = _unique_rules(header.get("unique"))
    facts = NetworkHeader(_of(bool, header.get("nullable")), _texts(header.get("rules")), unique)
    network = network_of(arrays, facts, limits)
    searched = {name: arrays[name] for name in _FOUND}
    found = Findings(**searched, least=_of(int, header.get("least")), dry=_of(bool, header.get("dry")))
    ignored = _texts(header.get("ignored"))
    table_of, own = _of(str, header.get("table_of")), arrays["table"].tobytes()
    require(bool(table_of) == bool(own), "a table is missing, or whose it is")
    require(not own or not unique, "where items may not repeat there is no table")
    table = DistanceTable.from_bytes(own, table_of, vocabulary) if own else None
    check_spares(network, limits)
    try:
        grammar = with_unique_items(CompiledGrammar(network, vocabulary, limits, ignored, found=found))
        return grammar if table is None else TabledGrammar(grammar, table)
    except GrammarError as error:
        raise ArtefactError(f"this is a grammar that doesn't compile: {error}") from error


def _dependencies(vocabulary: Vocabulary, limits: Limits) -> dict[str, Any]:
    return {"algorithm": ALGORITHM_VERSION, "vocabulary": vocabulary.fingerprint, "limits": limits.deciding()}


def _of(kind: type[Any], value: object) -> Any:
    require(type(value) is kind, "the header is not whole")
    return value


def _unique_rules(values: object) -> tuple[UniqueRule, ...]:
    return tuple(
        UniqueRule(_of(int, rule), _of(int, further), None if most is None else _of(int, most), _required(required))
        for rule, further, most, required in _rows(values, 4)
    )


def _required(value: object) -> RequiredRules | None:
    if value is None:
        return None
    [[item, spares, end]] = _rows([value], 3)
    return RequiredRules(_of(int, item), tuple(_of(int, rule) for rule in _of(list, spares)), _of(int, end))


def _rows(values: object, size: int) -> list[list[Any]]:
    if not isinstance(values, list) or not all(isinstance(value, list) and len(value) == size for value in values):
        raise ArtefactError("the header is not whole")
    return values


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ArtefactError("the header is not whole")
    return tuple(values)
