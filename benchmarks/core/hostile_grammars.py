"""Grammars that may make a step long or large: families known for it with random sizes, and mutations of them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from grammar_cache import Constraint

Family = Callable[[random.Random], Constraint]


@dataclass(frozen=True, slots=True)
class Hostile:
    """A grammar by the number it is made from, with a budget; `family`: how it is made."""

    number: int
    family: str
    constraint: Constraint
    budget: int


def _calls(rng: random.Random) -> Constraint:
    """Rules that all call others before they read anything."""
    count, ways = rng.choice((10, 50, 300)), rng.randint(1, 9)
    rules = [
        f"r{i} ::= "
        + " | ".join(f'r{rng.randrange(count)} r{rng.randrange(count)} "a"' for _ in range(ways))
        + ' | "x"'
        for i in range(count)
    ]
    return _gbnf("root ::= r0", *rules)


def _doubling(rng: random.Random) -> Constraint:
    """Texts that get as long as two to the number of rules."""
    count, part = rng.randint(5, 40), rng.choice(('"b"', '"bb"', "[a-c]", '"a" "b"'))
    rules = [f"r{i} ::= r{i + 1} r{i + 1} | {part}" for i in range(count)]
    return _gbnf("root ::= r0", *rules, f"r{count} ::= [a-z]")


def _readings(rng: random.Random) -> Constraint:
    """Texts with very many readings."""
    bodies = ("s s", "s s s", '"a" s', 's "a"', '"a" s "a"', '"(" s ")"', '"a"', '""', "t s", "t")
    chosen = rng.sample(bodies, rng.randint(2, 6))
    return _gbnf("root ::= s", f's ::= {" | ".join(["s s", *chosen])} | "a"', 't ::= s "b" | "a" t | "b"')


def _counted(rng: random.Random) -> Constraint:
    """Letters that have to be remembered for long."""
    many = rng.choice((10, 100, 1_000, 4_000))
    shapes = (
        f".*a.{{{many}}}",
        f"(.*a.{{{many}}})?b",
        f"([ab]{{1,{many}}}c)*",
        f"(a{{1,{many}}}){{1,3}}",
        f"(x|y){{{many}}}z",
    )
    return Constraint("regex", rng.choice(shapes))


def _chain(rng: random.Random) -> Constraint:
    """Rules that each call the next one."""
    count, last = rng.choice((100, 1_000, 10_000)), rng.choice(('"z"', "[a-z]+", 'r0 "z" | "y"'))
    turns = ('r{0} | "a" r{0}', '"a"? r{0}', 'r{0} "b" | r{0}')
    turn = rng.choice(turns)
    return _gbnf("root ::= r0", *(f"r{i} ::= {turn.format(i + 1)}" for i in range(count)), f"r{count} ::= {last}")


def _nested(rng: random.Random) -> Constraint:
    """Brackets, which texts remember in any order."""
    pairs = rng.sample(("()", "[]", "{}", "<>", "ab", "xy"), rng.randint(1, 6))
    ways = [f'"{pair[0]}" s "{pair[1]}"' for pair in pairs] + rng.sample(('s "," s', "s s", '"q"', "[0-9]+", '""'), 2)
    return _gbnf("root ::= s", f's ::= {" | ".join(ways)} | "w"')


def _wide(rng: random.Random) -> Constraint:
    """Rules that each read most letters, at one place."""
    count, times = rng.choice((5, 10, 20, 40, 100)), rng.randint(2, 12)

    def letter() -> str:
        return f"[^{''.join(rng.sample('abcdefghijklmnopqrstuvwxyz', 5))}]"

    def body(i: int) -> str:
        few, many = letter(), " ".join(letter() for _ in range(times))
        return rng.choice((f'{few}* "<" r{i} ">" {few}* | {few}+ "{i}"', f'{many} ("(" r{i} ")")? {few}'))

    return _gbnf(
        "root ::= " + " | ".join(f"r{i}" for i in range(count)), *(f"r{i} ::= {body(i)}" for i in range(count))
    )


def _random(rng: random.Random) -> Constraint:
    """Any rules."""
    count = rng.randint(2, 12)

    def part() -> str:
        rule, letters = f"r{rng.randrange(count)}", "".join(rng.choices("abc", k=rng.randint(1, 3)))
        return rng.choice(
            (rule, rule, f'"{letters}"', "[a-d]", f"{rule}?", f"({rule} | [a-z])*", f'("{letters}" {rule})+')
        )

    def body() -> str:
        ways = [" ".join(part() for _ in range(rng.randint(1, 4))) for _ in range(rng.randint(1, 5))]
        return " | ".join([*ways, f'"{rng.choice("abc")}"'])

    return _gbnf("root ::= r0", *(f"r{i} ::= {body()}" for i in range(count)))


FAMILIES: dict[str, Family] = {
    "calls first": _calls,
    "doubling": _doubling,
    "readings": _readings,
    "counts": _counted,
    "chains": _chain,
    "brackets": _nested,
    "random": _random,
    "wide": _wide,
}
TURNS = tuple(name for name in FAMILIES if name != "wide")
"""Families that take turns. A family that is found later is asked for by name: the numbers of others stay."""


def hostile(numbers: Iterator[int] | range, names: Sequence[str] = TURNS) -> Iterator[Hostile]:
    """The grammar of each number: of some families by turns, every other one mutated."""
    for number in numbers:
        rng = random.Random(number)
        family = names[number % len(names)]
        constraint = FAMILIES[family](rng)
        if number // len(names) % 2:
            constraint, family = Constraint(constraint.kind, _mutated(constraint.text, rng)), f"{family}, mutated"
        yield Hostile(number, family, constraint, rng.choice((8, 30, 120, 400)))


def _mutated(text: str, rng: random.Random) -> str:
    """Text in which some words stand in place of others, or twice, and some numbers are others; heads of rules stay."""
    words = re.split(r"(\s+(?:\w+ ::=\s+)?)", text)
    for _ in range(rng.randint(1, 6)):
        at, other = (2 * rng.randrange(len(words) // 2 + 1) for _ in range(2))
        words[at] = rng.choice(
            (words[other], f"{words[at]} {words[at]}", f"{words[at]}?", re.sub(r"\d+", "7", words[at]))
        )
    return "".join(words)


def _gbnf(*rules: str) -> Constraint:
    return Constraint("gbnf", "\n".join(rules))
