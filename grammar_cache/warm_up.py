"""Gets every loop before somebody waits for it: small grammars of each kind, through all that decoding asks for.

`python -m grammar_cache.warm_up` compiles all loops once for an installation: they are kept beside the modules. A
server warms up at its start, with its own vocabulary: then it takes a second, and the rules of JSON are solved as well.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from json import dumps
from string import ascii_lowercase
from threading import Thread
from time import perf_counter

import numpy as np

from grammar_cache.algorithms.candidate_order import leading, log_sum, ordered
from grammar_cache.algorithms.exponentials import sum_of_exponentials
from grammar_cache.algorithms.selection import BLOCK, GROUP, highest
from grammar_cache.artefact.artefact import from_bytes, to_bytes
from grammar_cache.compile import compile_grammar
from grammar_cache.configurations.moving import moved
from grammar_cache.constraint import Constraint
from grammar_cache.distances.additive import INFINITE
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.loops.compilation import compile_loops, loops, processors
from grammar_cache.masks.byte_costs import ByteCosts, CostBound
from grammar_cache.vocabulary.fewest_pieces import FewestPieces
from grammar_cache.vocabulary.token_set import TokenBits, union
from grammar_cache.vocabulary.vocabulary import Vocabulary

_SCHEMA = """{
  "type": "object",
  "properties": {
    "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 8},
    "size": {"type": "integer", "minimum": 3, "maximum": 4711, "multipleOf": 7},
    "tags": {"type": "array", "items": {"enum": ["a", "b", 1.5]}, "uniqueItems": true, "maxItems": 3},
    "names": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
    "other": {"not": {"type": ["string", "array"]}}
  },
  "patternProperties": {"^x-": {"format": "date"}},
  "required": ["name"]
}"""
_LARK = """start: "if" NAME sum | NAME "=" sum
sum: sum "+" INT | INT
NAME: /[a-z]+/
INT: /\\d+(?!\\d)/
%ignore " "
"""
_FOLLOWED = "|".join(f"{letter}[^{after}]" for letter, after in pairwise(ascii_lowercase + "a"))
GRAMMARS: dict[str, tuple[Constraint, bytes]] = {
    "a regular expression": (Constraint("regex", r"(?=.*\d)[a-z\d]{2,9}(-[^x]+)?"), b"a1"),
    "a text with more places than there is room for at first": (Constraint("regex", "(ab){200}"), b"a"),
    "a text of some length": (Constraint("regex", '[^"]{2,9}'), b"ab"),
    "a text that most tokens stay in": (Constraint("regex", '"(k";|[^"]*")[a-z]{4}'), b'"k'),
    "a text whose letters all differ": (Constraint("regex", f"({_FOLLOWED}){{2,9}}"), b"ac"),
    "a list of texts": (Constraint("choice", '["yes", "no", "perhaps"]'), b"y"),
    "recursive rules": (Constraint("gbnf", 'root ::= "(" root ")" | "[" root "]" root | [0-9]*'), b"(["),
    "left-recursive rules": (
        Constraint("gbnf", 'root ::= root "+" term | term\nterm ::= term "*" [0-9] | [0-9]'),
        b"1+2",
    ),
    "any JSON": (Constraint("json_schema", "{}"), b'{"a": ['),
    "a JSON Schema": (Constraint("json_schema", _SCHEMA), b'{"name": "a'),
    "a lexer that looks where it may": (Constraint("lark", _LARK), b"if a 1"),
    "a lexer by the parser's states": (Constraint("lark", _LARK.replace("(?!\\d)", ""), lexer="contextual"), b"if a 1"),
}
"""One for each way through the loops, and a beginning of its texts."""
SCHEMAS = "what most schemas have in common"
_KINDS = {"a": "string", "b": "integer", "c": "number", "d": "boolean", "e": "array", "f": "object", "g": "null"}
FORMATS = {
    "date": "2024-01-31",
    "time": "12:30:59.5Z",
    "date-time": "2024-01-31T12:30:59.5+01:00",
    "duration": "P1Y2M3DT4H5M6S",
    "email": "ab.c@de-f.gh",
    "hostname": "ab.cd-e.fg",
    "ipv4": "10.0.0.1",
    "ipv6": "fe80::1:2",
    "uri": "http://ab.cd/e?f=g#h",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}
"""Formats that schemas ask for most, each with a text."""


def warm_up(vocabulary: Vocabulary, report: Callable[[str], None] = lambda line: None) -> None:
    """`report` gets a line for each grammar."""
    logits = np.arange(2.0 * GROUP * BLOCK, dtype=np.float32)
    highest(logits, 2)
    sum_of_exponentials(logits, logits[-1], 1.0)
    one, value = np.zeros(1, np.int32), np.zeros(1)
    ordered(one, value, one, 0, one)
    log_sum(leading(value, 0.0, value, 1)[1])
    union([TokenBits.of_tokens(one, 8), TokenBits.of_tokens(one + 1, 8)], 8)
    bound = CostBound(0)
    bound.add(ByteCosts.all_alike(1))
    bound.exceeded()
    FewestPieces([b"a", b"ab"]).more_than(b"aab", 1)
    for name, (constraint, beginning) in GRAMMARS.items():
        begun = perf_counter()
        _use(compile_grammar(constraint, vocabulary), beginning)
        report(f"{name}: {perf_counter() - begun:.1f} s")
    dear = Constraint("gbnf", 'root ::= root root | "a"')
    _use(compile_grammar(dear, vocabulary, Limits(byte_cost=1)), b"")
    begun = perf_counter()
    solve_json(vocabulary)
    report(f"{SCHEMAS}: {perf_counter() - begun:.1f} s")


def solve_json(vocabulary: Vocabulary) -> None:
    """Solves what most schemas have in common, the rules of JSON and the formats of strings, with masks at each place
    of a text: all schemas over the vocabulary share them.
    """
    kinds = {name: {"type": kind} for name, kind in _KINDS.items()}
    plain = {"type": "object", "properties": kinds, "required": list(kinds)}
    text = '{"a": "b\\n\\u00e9", "b": -12, "c": 1.5e1, "d": true, "e": [1, ["x"]], "f": {"y": 2}, "g": null}'
    bounded = {"type": "string", "maxLength": 1000}
    asked: list[tuple[object, str]] = [(plain, text), (bounded, '"ab\\n"')]
    asked += [({"type": "string", "format": name}, f'"{example}"') for name, example in FORMATS.items()]
    for schema, example in asked:
        grammar = compile_grammar(Constraint("json_schema", dumps(schema)), vocabulary)
        grammar.lower_bound(grammar.start)
        for place in range(len(example) + 1):
            configuration = grammar.consume_bytes(grammar.start, example.encode()[:place])
            assert configuration is not None, "it is a text of the schema"
            grammar.mask(configuration)


def warm_up_special_tokens(vocabulary: Vocabulary) -> None:
    """Spells a vocabulary's special tokens, and solves the rules of JSON with them: else a first call of a tool would
    wait for it. Does nothing where no token that goes on has a name.
    """
    token = next(iter(vocabulary.special), None)
    if token is None or vocabulary.special.names is None:
        return
    name, call = vocabulary.special.names[token], {"type": "json_schema", "json_schema": {}}
    tag = {"type": "tag", "begin": name, "content": call, "end": name}
    wanted = {"type": "triggered_tags", "triggers": [name], "tags": [tag]}
    tags = {"type": "structural_tag", "format": wanted}
    for constraint in (Constraint("structural_tag", dumps(tags)), Constraint("json_schema", _SCHEMA)):
        _use(compile_grammar(constraint, vocabulary.with_special_tokens), b"")
    solve_json(vocabulary.with_special_tokens)


def warm_up_beside(vocabulary: Vocabulary) -> Thread:
    """Begins `warm_up_special_tokens` in a thread that nobody has to wait for: requests are served meanwhile."""
    thread = Thread(target=warm_up_special_tokens, args=(vocabulary,), name="swyb-warm-up", daemon=True)
    thread.start()
    return thread


def _use(grammar: CompiledGrammar, beginning: bytes) -> None:
    """All that a decoder asks a grammar for, with and without room, and that as bytes it is read."""
    least = grammar.minimum.tokens
    grammar.lower_bound(grammar.start)
    grammar.witness(grammar.start)
    grammar.witness(grammar.start, INFINITE)
    tokens = grammar.vocabulary.token_list[:64]
    for place in range(len(beginning) + 1):
        configuration = grammar.consume_bytes(grammar.start, beginning[:place])
        assert configuration is not None, "it is a beginning"
        after = grammar.consume_batch(np.array([configuration], np.int32), tokens[None, :])
        for budget in (least, 2 * least + 9, None):
            grammar.distances(after, least if budget is None else budget)
            grammar.mask(configuration, budget)
        grammar.only_token(configuration, least + 9)
        grammar.proposals(configuration)
        grammar.distance(configuration)
        grammar.accepts(configuration)
    moved([grammar.start], grammar._configurations, grammar.anew()._configurations)
    from_bytes(to_bytes(grammar), grammar.vocabulary, grammar.limits)


def letters() -> Vocabulary:
    """A vocabulary of bytes, some pairs of them, those of letters among them, and an end."""
    pairs = [b'{"', b'":', b'", "', b"if", b"yes", b"12", b"[[", b"((", b"}}", b"]]", b"))"]
    pairs += [bytes(pair) for pair in product(range(0x61, 0x7B), repeat=2)]
    return Vocabulary([*(bytes([byte]) for byte in range(256)), *pairs], [256 + len(pairs)])


def main() -> None:
    """Says what it does: the first time it takes a minute or two."""
    begun = perf_counter()
    print("compiling the loops of grammar_cache; the first time it takes a minute or two", flush=True)
    compile_loops(loops(), processors())
    warm_up(letters(), lambda line: print(f"  {line}", flush=True))
    print(f"compiled after {perf_counter() - begun:.1f} s: they are kept for the next start", flush=True)


if __name__ == "__main__":
    main()
