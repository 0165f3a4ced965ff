"""Special tokens as terminals: Python's `re` over token sequences judges what grammars with them accept.

In the oracle every special token is a private-use character, and a text token its text. Completions are found by trying
all token sequences, so masks and minima owe nothing to automata or distances.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import CompiledGrammar, Constraint, EmptyLanguage, UnsupportedFeature, Vocabulary, compile_grammar
from grammar_cache.artefact.artefact import from_bytes, to_bytes
from grammar_cache.compile import constraint_id
from grammar_cache.constraint import Kind
from grammar_cache.special_tokens import ESCAPE
from tests.strategies import examples

SPECIAL = {10: "<x>", 11: "</x>", 12: "<|call|>", 13: "<|end|>"}
STOP = 13
PRIVATE = {token: chr(0xE000 + token) for token in SPECIAL}
NAMED = {name: PRIVATE[token] for token, name in SPECIAL.items()}
DEEPEST = 3
"""Tokens of the longest completion that is looked for."""


class Rule(NamedTuple):
    """A part of a grammar as GBNF, as Lark where that can be said, and as a pattern of `re`."""

    gbnf: str
    lark: str | None
    pattern: str


def rules() -> st.SearchStrategy[Rule]:
    """Random expressions over the letters a and b and three special tokens."""
    text = st.sampled_from(["a", "b", "ab", "ba"]).map(lambda word: Rule(f'"{word}"', f'"{word}"', word))
    names = [SPECIAL[token] for token in SPECIAL if token != STOP]
    named = st.sampled_from(names).map(lambda name: Rule(name, name, NAMED[name]))
    others = st.sampled_from(names).map(lambda name: Rule(f"!{name}*", None, f"[^{NAMED[name]}]*"))
    return st.recursive(text | named | others, _wider, max_leaves=5)


def _wider(inner: st.SearchStrategy[Rule]) -> st.SearchStrategy[Rule]:
    def joined(parts: Sequence[Rule], mark: str) -> Rule:
        larks = [part.lark for part in parts if part.lark is not None]
        lark = f"({mark.join(larks)})" if len(larks) == len(parts) else None
        pattern = f"(?:{mark.strip().join(part.pattern for part in parts)})"
        return Rule(f"({mark.join(part.gbnf for part in parts)})", lark, pattern)

    def repeat(part: Rule, mark: str) -> Rule:
        lark = None if part.lark is None else f"({part.lark}){mark}"
        return Rule(f"({part.gbnf}){mark}", lark, f"(?:{part.pattern}){mark}")

    several = st.lists(inner, min_size=2, max_size=3)
    repeated = st.builds(repeat, inner, st.sampled_from("?*+"))
    return several.map(lambda parts: joined(parts, " ")) | several.map(lambda parts: joined(parts, " | ")) | repeated


def vocabularies() -> st.SearchStrategy[Vocabulary]:
    """Random vocabularies that may lack single letters, with a token of the byte that stands for special tokens."""
    pieces = st.lists(st.sampled_from([b"a", b"b", b"ab", b"ba", b"aba", b"bb"]), min_size=2, max_size=4, unique=True)

    def made(words: list[bytes]) -> Vocabulary:
        tokens = [*words, b"\xff", b"\xff\x00", b"\x0a"]
        return Vocabulary(tokens, [STOP], {10: "<x>", 11: "</x>"}, {12: "<|call|>", 13: "<|end|>"})

    return pieces.map(made)


class Oracle:
    """Distances by trying all sequences of tokens, up to DEEPEST."""

    def __init__(self, pattern: str, vocabulary: Vocabulary) -> None:
        self._pattern = re.compile(pattern)
        self._shown = {}
        for token in range(vocabulary.size):
            data = vocabulary.token_bytes[token]
            if token in PRIVATE and token != STOP:
                self._shown[token] = PRIVATE[token]
            elif data is not None and data.isascii():
                self._shown[token] = data.decode()
        self._known: dict[str, int | None] = {}

    @property
    def tokens(self) -> list[int]:
        return list(self._shown)

    def text(self, tokens: Sequence[int]) -> str:
        return "".join(self._shown.get(token, "!") for token in tokens)

    def distance(self, tokens: Sequence[int]) -> int | None:
        """Fewest tokens that complete a sequence; None beyond DEEPEST."""
        text = self.text(tokens)
        if text not in self._known:
            self._known[text] = next(
                (
                    count
                    for count in range(DEEPEST + 1)
                    if any(
                        self._pattern.fullmatch(text + "".join(more))
                        for more in product(self._shown.values(), repeat=count)
                    )
                ),
                None,
            )
        return self._known[text]


def compiled(kind: Kind, text: str, vocabulary: Vocabulary) -> CompiledGrammar:
    return compile_grammar(Constraint(kind, text), vocabulary)


@given(rules(), vocabularies(), st.data())
@examples(60)
def test_masks_and_distances_are_those_of_all_token_sequences(
    rule: Rule, vocabulary: Vocabulary, data: st.DataObject
) -> None:
    """Along random sequences, masks at every budget, acceptance and the minimum agree with brute force."""
    oracle = Oracle(rule.pattern, vocabulary)
    least = oracle.distance([])
    kind: Kind = data.draw(st.sampled_from(["gbnf", "lark"] if rule.lark is not None else ["gbnf"]))
    text = f"root ::= {rule.gbnf}" if kind == "gbnf" else f"start: {rule.lark}"
    try:
        grammar = compiled(kind, text, vocabulary)
    except EmptyLanguage:
        assert least is None
        return
    minimum = grammar.minimum
    assert minimum.exact
    assert minimum.tokens == least if least is not None else minimum.tokens > DEEPEST
    configuration, tokens = grammar.start, list[int]()
    for _ in range(4):
        assert grammar.accepts(configuration) is (oracle.distance(tokens) == 0)
        left = data.draw(st.integers(1, DEEPEST))
        expected = {token for token in oracle.tokens if _fits(oracle, [*tokens, token], left - 1)}
        found = set(grammar.mask(configuration, left).nonzero()[0].tolist()) - {STOP}
        assert found == expected
        if not expected:
            return
        tokens.append(data.draw(st.sampled_from(sorted(expected))))
        after = grammar.consume(configuration, tokens[-1])
        assert after is not None
        configuration = after


def _fits(oracle: Oracle, tokens: Sequence[int], left: int) -> bool:
    distance = oracle.distance(tokens)
    return distance is not None and distance <= left


@given(rules(), vocabularies(), st.integers(0, 2), st.randoms(use_true_random=False))
@examples(40)
def test_whatever_is_chosen_fits_the_budget(rule: Rule, vocabulary: Vocabulary, more: int, random: object) -> None:
    """Hostile choices among what the mask allows end in a sequence that `re` accepts, within the budget."""
    try:
        grammar = compiled("gbnf", f"root ::= {rule.gbnf}", vocabulary)
    except EmptyLanguage:
        return
    oracle = Oracle(rule.pattern, vocabulary)
    left = grammar.minimum.tokens + more
    configuration, tokens = grammar.start, []
    while left and not grammar.ends(configuration):
        allowed = [token for token in grammar.mask(configuration, left).nonzero()[0].tolist() if token != STOP]
        if not allowed:
            break
        tokens.append(max(allowed, key=lambda token: (token in SPECIAL, -token)))
        configuration = grammar.take(configuration, tokens[-1])
        left -= 1
    assert re.fullmatch(rule.pattern, oracle.text(tokens))


@given(rules(), vocabularies())
@examples(25)
def test_saved_grammars_are_equal_bytes(rule: Rule, vocabulary: Vocabulary) -> None:
    """A grammar comes back from its bytes as it was; compiled again, it has the same ones."""
    try:
        grammar = compiled("gbnf", f"root ::= {rule.gbnf}", vocabulary)
    except EmptyLanguage:
        return
    saved = to_bytes(grammar)
    assert to_bytes(compiled("gbnf", f"root ::= {rule.gbnf}", vocabulary)) == saved
    loaded = from_bytes(saved, vocabulary, grammar.limits)
    assert to_bytes(loaded) == saved
    assert loaded.bitmask(loaded.start).tobytes() == grammar.bitmask(grammar.start).tobytes()
    assert loaded.vocabulary is grammar.vocabulary


VOCABULARY = Vocabulary(
    [b"a", b"b", b"<", b"x", b">", b"<x", b"\xff", b"\x00\x00\x00\x0a", None, None], [STOP], {10: "<x>", 11: "</x>"},
    {12: "<|call|>", STOP: "<|end|>"},
)  # fmt: skip


def test_nested_terminals() -> None:
    """Recursion through special tokens counts them, which no regular expression can."""
    grammar = compiled("gbnf", 'root ::= <x> root </x> | "a"', VOCABULARY)
    for depth in range(6):
        configuration = grammar.start
        for token in [*[10] * depth, 0, *[11] * depth]:
            configuration = grammar.take(configuration, token)
        assert grammar.accepts(configuration)
        assert grammar.consume(configuration, 11) is None
        assert grammar.witness(grammar.start) == (0,)


def test_text_is_no_token_and_a_token_is_no_text() -> None:
    """The characters of a name don't match its token, nor the token its characters, whatever bytes spell."""
    token, text = compiled("gbnf", 'root ::= <x> "a"', VOCABULARY), compiled("gbnf", 'root ::= "<x>" "a"', VOCABULARY)
    assert token.mask(token.start).nonzero()[0].tolist() == [10]
    assert text.mask(text.start).nonzero()[0].tolist() == [2, 5]
    assert token.consume(token.start, 6) is None  # the byte that stands for tokens, as a token of its own
    assert compiled("gbnf", "root ::= .", VOCABULARY).consume(0, 10) is None


def test_grammars_without_them_stay_as_they_are() -> None:
    """A grammar of text has the plain vocabulary, and the bytes that it has where no token has a name."""
    plain = Vocabulary(VOCABULARY.token_bytes, VOCABULARY.stop_ids)
    assert plain.fingerprint == VOCABULARY.fingerprint
    for kind, text in (("regex", "a*b"), ("gbnf", 'root ::= "a" root | "b"'), ("lark", 'start: "a"+')):
        named, without = (compile_grammar(Constraint(kind, text), one) for one in (VOCABULARY, plain))  # type: ignore[arg-type]
        assert to_bytes(named) == to_bytes(without)
        assert named.vocabulary is VOCABULARY


def test_ids_of_grammars_depend_on_the_names_of_tokens() -> None:
    """Ids of grammars that may name tokens differ where names do, and no saved grammar is taken for another."""
    swapped = Vocabulary(VOCABULARY.token_bytes, [STOP], {10: "</x>", 11: "<x>"}, {12: "<|call|>"})
    constraint = Constraint("gbnf", 'root ::= <x> "a"')
    assert constraint_id(constraint, VOCABULARY) != constraint_id(constraint, swapped)
    assert constraint_id(Constraint("regex", "a"), VOCABULARY) == constraint_id(Constraint("regex", "a"), swapped)
    saved = to_bytes(compile_grammar(constraint, VOCABULARY))
    with pytest.raises(ValueError, match="vocabulary"):
        from_bytes(saved, swapped, compile_grammar(constraint, swapped).limits)


def test_texts_of_answers() -> None:
    """Texts show the tags of templates by name and leave out special tokens, unless all are to be named."""
    assert VOCABULARY.text([10, 0, 11, 12, 1, STOP]) == b"<x>a</x>b"
    assert VOCABULARY.text([10, 0, 12, STOP], named=True) == b"<x>a<|call|><|end|>"
    spelled = VOCABULARY.with_special_tokens
    assert spelled.text([10, 0, 11, 12, 1]) == b"<x>a</x>b"
    assert not any(ESCAPE in string for string in VOCABULARY.with_special_tokens.strings if len(string) < 5)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("gbnf", "root ::= <xx>", "no special token <xx>; near it: <x>, </x>"),
        ("gbnf", "root ::= <[99]>", "99 is the id of no special token"),
        ("gbnf", "root ::= <[0]>", "text is written as text"),
        ("gbnf", "root ::= <|end|>", "ends an answer"),
        ("gbnf", 'root ::= !<x> "a"', "without [*] or [+]"),
        ("gbnf", "root ::= ExcludeToken(10)", "without [*] or [+]"),
        ("gbnf", "root ::= a\na[lazy] ::= <x>", "attributes"),
        ("lark", "start: <xx>", "no special token <xx>"),
        ("lark", "start: A\nA: <x>", "inside a terminal"),
        ("lark", 'start: "a"\n%ignore <x>', "ignored"),
        ("lark", 'start: <[^10]>* "a"', "ids and ranges"),
        ("lark", "start: <[20-30]>", "no special token in it"),
        ("lark", "start: <|end|>", "ends an answer"),
    ],
)
def test_refusals(kind: Kind, text: str, message: str) -> None:
    """Refusals of tokens that can't be terminals tell the place and the reason."""
    with pytest.raises(UnsupportedFeature, match=message) as refusal:
        compiled(kind, text, VOCABULARY)
    assert refusal.value.line is not None


def test_other_ways_to_write_them() -> None:
    """Ids, lists, ranges and xgrammar's calls name the same tokens."""
    for kind, text, expected in (
        ("gbnf", "root ::= <[10]>", [10]),
        ("gbnf", "root ::= Token(10, 12)", [10, 12]),
        ("gbnf", 'root ::= ExcludeToken(10, 13)+ "a"', [0, 1, 2, 3, 4, 5, 7, 11, 12]),
        ("gbnf", 'root ::= TokenTagDispatch((10, a), excludes=(11,))\na ::= "b"', [0, 1, 2, 3, 4, 5, 7, 10, 12, 13]),
        ("lark", "start: <[10,12]>", [10, 12]),
        ("lark", "start: <[9-13]>", [10, 11, 12]),
    ):
        grammar = compile_grammar(Constraint(kind, text), VOCABULARY)  # type: ignore[arg-type]
        assert grammar.mask(grammar.start).nonzero()[0].tolist() == expected


def test_terminals_end_before_a_special_token_as_at_the_end() -> None:
    """A Lark terminal that is greedy, and ignored space, may stand before a special token; contexts end with it."""
    vocabulary = Vocabulary([b"a", b" ", b"b", None], [4], {3: "<x>"})
    grammar = compiled("lark", 'start: A <x> A\nA: /a+(?!b)/\n%ignore " "', vocabulary)
    for tokens, accepted in (([0, 0, 3, 0], True), ([0, 1, 3, 1, 0, 1], True), ([3, 0], False), ([0, 3, 0, 2], False)):
        configuration = grammar.start
        for token in tokens:
            configuration = grammar.take(configuration, token)
            if configuration < 0:
                break
        assert (configuration >= 0 and grammar.accepts(configuration)) is accepted
