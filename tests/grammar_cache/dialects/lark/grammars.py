"""Random Lark grammars: terminals that grow into each other, empty rules, left recursion, every operator."""

from __future__ import annotations

import random

LETTERS = "abc "
TERMINALS = (
    *(
        '"a"',
        '"b"',
        '"ab"',
        '"aa"',
        '"c"',
        '"Ab"i',
        '"a".."b"',
        '"ba" "c"',
        '("a" "b"?)+',
        '"a" | "ab" | /b+c/',
        '"b"~2..3',
    ),
    *("/a+/", "/ab?/", "/[ab]+/", "/a(ba)*/", "/(ab)+c?/", "/b+/", "/ca*/", "/a|ab/", "/ab|a/", "/a+?b?/", "/A+/i"),
    *(
        "/a*?c/",
        "/(a|ab)(c|bcd)?/",
        "/a b?/x",
        "/[^a ]/",
        "/.b/",
        "/a(?!b)/",
        "/b(?=c)c?/",
        "/c$/",
        r"/\bb/",
        "/(?<=a)b/",
    ),
)
IGNORED = ('" "', "/ +/", '/c+/ | " "', "T0", '"a" " "', "/ c*/", '" " | "b "')


SWALLOWED = ('" "', '" "', '"b"', '"B"i', '" b"', '"ab"', "/ +/", "/[ b]/", r"/\s/", "/B/i", '"b" | " "')
"""Words that are ignored, or are the grammar's, and matched as a whole by some of SWALLOWING."""
SWALLOWING = (
    *("/[^a]/", "/[^a]+/", "/./", "/.b?/", "/[ab ]+/", "/[ab]+/", "/[A-C ]+/i", "/b| /", r"/\s+/", r"/\S/", "/b?[ b]/"),
    *("/b(?! )/", "/ b?/", "/ab?/", "/B/i", "/(?i:b)c?/", "/ +|b+/"),
)


def random_grammar(rng: random.Random) -> str:
    """Up to three rules over up to four terminals and the letters a, b, c and the space. Lark may refuse it."""
    rules = ["start", "x", "_y"][: rng.randint(1, 3)]
    chosen = rng.sample(TERMINALS, rng.randint(1, 4))
    atoms = [*rules, *[f"T{i}" for i in range(len(chosen))] * 2, *(text for text in chosen if " " not in text)]
    lines = [f"{name}: " + "\n  | ".join(_sequence(rng, atoms, 0) for _ in range(rng.randint(1, 3))) for name in rules]
    if rng.random() < 0.2:
        lines = [line.replace("start: ", "start: pair{T0, start} | pair{x, T0} | ", 1) for line in lines]
        lines.append('pair{p, q}: p q | q "c" p?')
        lines += [] if "x" in rules else ["x: T0"]
    lines += [f"T{index}{rng.choice(['', '', '.2'])}: {text}" for index, text in enumerate(chosen)]
    lines += [f"%ignore {text}" for text in rng.sample(IGNORED, rng.choice([0, 0, 1, 1, 2]))]
    return "\n".join(lines) + "\n"


def deterministic_grammar(rng: random.Random) -> str:
    """Statements of words, names, numbers and signs that an LALR parser reads without conflicts, mostly."""
    words = rng.sample(['"a"', '"ab"', '"if"', '"IF"i', '"+"', '"++"', '"+="', '"("', '")"', '","', '"1"', '".."'], 6)
    classes = rng.sample(["NAME", "INT", "FLOAT", "SPACED"], rng.randint(1, 3))
    rules = ["start", "x", "y"][: rng.randint(1, 3)]
    lines = []
    for name in rules:
        firsts = rng.sample([*words, *classes], rng.randint(1, 3))
        tails = [[rng.choice([*words, *classes, *rules, *rules]) for _ in range(rng.randint(0, 3))] for _ in firsts]
        bodies = [
            " ".join([first, *(part + rng.choice(["", "", "?"]) for part in tail)])
            for first, tail in zip(firsts, tails, strict=True)
        ]
        lines.append(f"{name}: " + "\n  | ".join(bodies) + rng.choice(["", "", "\n  |"]))
    lines += [rf"NAME{rng.choice(['', '.2'])}: /[a-c]+/", r"INT: /\d+/", r"FLOAT: /\d+\.\d*/", 'SPACED: "b" " "*']
    lines += rng.sample(['%ignore " "', "%ignore / +/", "%ignore /#.*/"], rng.randint(0, 2))
    return "\n".join(lines) + "\n"


def swallowing_grammar(rng: random.Random) -> str:
    """Regular expressions that match ignored literals as a whole, and ignored ones that match literals of the rules.

    With flags and priorities, in which Lark's decision lies. Mostly without conflicts: alternatives begin otherwise.
    """
    regexes, words = rng.sample(SWALLOWING, rng.randint(1, 3)), rng.sample(SWALLOWED, rng.randint(1, 3))
    named = {f"R{i}": text for i, text in enumerate(regexes)} | {f"W{i}": text for i, text in enumerate(words)}
    names = [*named, *(text for text in words if text.startswith('"') and "|" not in text), '"a"', '","']
    rules = ["start", "x"][: rng.randint(1, 2)]
    lines = []
    for rule in rules:
        firsts = rng.sample(sorted(set(names)), rng.randint(1, 3))
        tails = [rng.choices([*names, *rules], k=rng.choice([0, 0, 1, 1, 2])) for _ in firsts]
        bodies = [
            " ".join(part + rng.choice(["", "", "", "?", "+"]) for part in (first, *tail))
            for first, tail in zip(firsts, tails, strict=True)
        ]
        lines.append(f"{rule}: " + " | ".join(bodies) + rng.choice(["", "", " |"]))
    lines += [f"{name}{rng.choice(['', '', '', '.2'])}: {text}" for name, text in named.items()]
    skipped = rng.sample([*named, *SWALLOWED, '","', "/,b?/"], rng.choice([1, 1, 2, 2, 3]))
    lines += [f"%ignore {text}" for text in skipped]
    return "\n".join(lines) + "\n"


def _sequence(rng: random.Random, atoms: list[str], depth: int) -> str:
    return " ".join(_item(rng, atoms, depth) for _ in range(rng.choice([0, 1, 1, 2, 2, 3])))


def _item(rng: random.Random, atoms: list[str], depth: int) -> str:
    kind = rng.random()
    if depth < 2 and kind < 0.25:
        inner = " | ".join(_sequence(rng, atoms, depth + 1) for _ in range(rng.randint(1, 2)))
        item = f"({inner})" if kind < 0.2 else f"[{inner}]"
    else:
        item = rng.choice(atoms)
    # Operators inside operators make grammars that Lark itself needs minutes for.
    return item + rng.choice(["", "", "", "", "?", "*", "+", "~2", "~0..2"] if depth == 0 else ["", "", "", "?", "+"])
