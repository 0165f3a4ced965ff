"""Ambiguity agrees with counts of derivations: of small grammars, text by text, and by Lark's own forests."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest
from lark import Lark
from lark.exceptions import UnexpectedInput

from grammar_cache import Constraint, Limits
from grammar_cache.analysis import ambiguity as searching
from grammar_cache.analysis.ambiguity import Ambiguity, ambiguity
from grammar_cache.analysis.lark_ambiguity import lark_ambiguity
from grammar_cache.dialects.gbnf.compiler import parse
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Seq

LONGEST = 5
Rules = dict[str, list[tuple[str, ...]]]
"""Alternatives of each rule; upper case names rules, lower case is a letter."""


def random_rules(rng: random.Random) -> Rules:
    names = "SAB"[: rng.randrange(1, 4)]
    symbols = [*names, *"ab", *"ab"]
    return {
        name: sorted(
            {tuple(rng.choices(symbols, k=rng.choice((0, 1, 1, 2, 2, 3)))) for _ in range(rng.randrange(1, 4))}
        )
        for name in names
    }


def grammar_of(rules: Rules) -> Grammar:
    def symbol(name: str) -> Ref | Bytes:
        return Ref(name) if name.isupper() else Bytes(name.encode())

    bodies = {name: Alt(tuple(Seq(tuple(map(symbol, way))) for way in ways)) for name, ways in rules.items()}
    return Grammar(bodies, "S")


def derivations(rules: Rules, text: str) -> int:
    """Derivations of a text, counted up to two: the least solution of the equations over spans."""
    spans = [(first, last) for first in range(len(text) + 1) for last in range(first, len(text) + 1)]
    counts = {(name, span): 0 for name in rules for span in spans}

    def of(way: tuple[str, ...], first: int, last: int) -> int:
        if not way:
            return int(first == last)
        head, rest = way[0], way[1:]
        if head.islower():
            return of(rest, first + 1, last) if first < last and text[first] == head else 0
        cuts = range(first, last + 1)
        return min(
            2, sum(counts[head, (first, cut)] * of(rest, cut, last) for cut in cuts if counts[head, (first, cut)])
        )

    changed = True
    while changed:
        changed = False
        for (name, span), known in counts.items():
            found = min(2, sum(of(way, *span) for way in rules[name]))
            if found != known:
                counts[name, span], changed = found, True
    return counts["S", (0, len(text))]


def texts() -> Iterator[str]:
    for length in range(LONGEST + 1):
        yield from map("".join, product("ab", repeat=length))


def check(number: int) -> bool | None:
    """Whether a grammar is ambiguous, as far as it is told: a text of two derivations, or none that is short."""
    rules = random_rules(random.Random(number))
    found = ambiguity(grammar_of(rules))
    if found.ambiguous:
        assert found.example is not None
        assert derivations(rules, found.example.decode()) == 2, rules
    if found.ambiguous is False:
        assert found.example is None
        assert all(derivations(rules, text) < 2 for text in texts()), rules
    return found.ambiguous


def test_random_grammars() -> None:
    """Grammars with recursion, cycles and empty rules: what is told is so, and mostly it is told."""
    told = [check(number) for number in range(150)]
    assert min(told.count(True), told.count(False)) > 20
    assert told.count(None) < 45


@pytest.mark.full
def test_thousands_of_random_grammars() -> None:
    """Runs the quick test for 4,000 grammars more."""
    for number in range(150, 4_150):
        check(number)


def has_two_trees(parser: Lark, text: str) -> bool:
    try:
        return any(parser.parse(text).find_data("_ambig"))
    except UnexpectedInput:
        return False


def test_lark_has_the_same_view() -> None:
    """Random grammars without empty rules and cycles, as Lark's Earley parser sees them: `_ambig` in its trees."""
    rng, told = random.Random(5), []
    for _ in range(60):
        names = ["start", "p", "q"][: rng.randrange(1, 4)]
        symbols = [*names, '"a"', '"b"', '"a"', '"b"', "X", "Y"]
        ways = {
            name: {
                ('"a"',),
                *(tuple(rng.choices(symbols, k=rng.choice((2, 2, 3)))) for _ in range(rng.randrange(1, 3))),
            }
            for name in names
        }
        text = "".join(f"{name}: {' | '.join(' '.join(way) for way in sorted(ways[name]))}\n" for name in names)
        text += 'X: "a" | "c"\nY: "c"\n%ignore " "\n'
        found = lark_ambiguity(Constraint("lark", text), Limits())
        told.append(found.ambiguous)
        parser = Lark(text, ambiguity="explicit")
        if found.ambiguous:
            assert found.example is not None
            assert has_two_trees(parser, found.example.decode())
        if found.ambiguous is False:
            assert not any(has_two_trees(parser, "".join(one)) for n in range(1, 4) for one in product("abc", repeat=n))
    assert min(told.count(True), told.count(False)) > 5


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('root ::= "a" | b\nb ::= "a"', Ambiguity(True, b"a")),
        ('root ::= root "+" root | [0-9]', Ambiguity(True, b"0+0+0")),
        ('root ::= root "+" t | t\nt ::= [0-9] | "(" root ")"', Ambiguity(False)),
        ('root ::= "if" root ("else" root)? | "x"', Ambiguity(True, b"ififxelsex")),
        ('root ::= a\na ::= a | "x"', Ambiguity(True, b"x")),
        ('root ::= a*\na ::= ""', Ambiguity(True, b"")),
        ('root ::= ("a" | "a" "a")*', Ambiguity(False)),  # no rule reads anything else
        ("root ::= [a-z]{0,2000}", Ambiguity(False)),
        ('root ::= "é" a | "é" b\na ::= [à-ÿ]\nb ::= "é" | "x"', Ambiguity(True, "éé".encode())),
        ('root ::= "a" root "a" | ""', Ambiguity(None)),  # unambiguous, and no table with one byte to look at is
    ],
)
def test_gbnf(text: str, told: Ambiguity) -> None:
    """A derivation is a tree of rules; alternatives within a rule that read the same are one."""
    assert ambiguity(parse(text)) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('start: A | B\nA: "x"\nB: /x/\n', True),
        ('start: W+\nW: /[a-z]+/\n%ignore " "\n', None),  # Lark takes the longest word, which is not seen here
        ('start: W+\nW: /[a-z]/\n%ignore " "\n', False),
        ('start: e\ne: e "+" N | N\nN: /[0-9]+/\n%ignore " "\n', False),
        ("start: a a\na: /x/?\n", True),
    ],
)
def test_lark(text: str, told: bool | None) -> None:
    """Named terminals are told apart, ignored text is not."""
    assert lark_ambiguity(Constraint("lark", text), Limits()).ambiguous is told


def test_the_contextual_lexer_has_one_tree() -> None:
    """Lark's LALR parser decides conflicts beforehand."""
    text = 'start: e\ne: e "+" e | N\nN: /[0-9]+/\n'
    assert lark_ambiguity(Constraint("lark", text, lexer="contextual"), Limits()) == Ambiguity(False)


def test_searches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches without fuel tell what the table tells, and no more."""
    monkeypatch.setattr(searching, "FIRST_FUEL", 0)
    monkeypatch.setattr(searching, "FUEL", 0)
    assert ambiguity(parse('root ::= root "+" root | [0-9]')) == Ambiguity(None)
    assert ambiguity(parse('root ::= root "+" [0-9] | [0-9]')) == Ambiguity(False)
