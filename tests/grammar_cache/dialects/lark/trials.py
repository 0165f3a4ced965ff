"""Random trials of the Lark front end: grammars and texts at random, judged by Lark itself, in both modes.

`python -m tests.grammar_cache.dialects.lark.trials 1000 --texts 30 --seed 0` draws until so many grammars of each mode
could be compared, then goes through the corpus of published grammars, and prints the counts and every difference.
Everything follows from the seed and a trial's number.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from types import FrameType
from typing import Literal, TypeAlias

from lark.exceptions import LarkError

from grammar_cache.dialects.lark import compiler as lark
from grammar_cache.errors import EmptyLanguage, GrammarError, LimitExceeded, UnsupportedFeature
from server.checking.membership import Recogniser
from tests.grammar_cache.dialects.corpus import GRAMMARS
from tests.grammar_cache.dialects.lark import lark_oracle
from tests.grammar_cache.dialects.lark.grammars import (
    LETTERS,
    deterministic_grammar,
    random_grammar,
    swallowing_grammar,
)
from tests.grammar_cache.dialects.lark.lark_oracle import LexedSampler, Oracle, WithLexemes, mutated

LARGEST = 150
"""Alternatives of a random grammar for Earley, and below: characters of a text. Lark takes minutes beyond."""
LONGEST = {"dynamic": 12, "contextual": 40, "file": 40}
SIGNS = {"dynamic": LETTERS, "contextual": "abcBif +=(),.12#\n", "file": " \n\"'()+,-.0129:;=ABab{}xyz_é"}
"""Characters that texts are changed with, and made of where nothing is known."""
SHARES = {"dynamic": (3, 1, 0), "contextual": (1, 2, 3)}
"""Shares of grammars that are random, have terminals that match what is ignored, or are LALR(1)."""
PATIENCE = 10.0
"""Seconds of processor time that Lark gets for a text."""

_TERMINAL = re.compile(r"(in )?the terminal \w+: |(?<=the terminal )\w+ ")

Mode: TypeAlias = Literal["dynamic", "contextual"]


class SkippedError(Exception):
    """Reason why a grammar can't be compared."""


class _TooSlowError(BaseException):
    """Lark took longer than its time; nothing on the way catches it."""


@dataclass(slots=True)
class Tally:
    """Counts of what was compared, and of what was not."""

    grammars: int = 0
    empty: int = 0
    texts: int = 0
    accepted: int = 0
    slow: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Pair:
    """Lark's answers and ours for one grammar; `ours` is None where no text belongs."""

    text: str
    source: WithLexemes
    """Grammar that texts are drawn from: as the dynamic lexer reads it, no terminal hidden by another."""
    lark: Oracle
    ours: Recogniser | None

    def differs(self, sample: str) -> tuple[bool, bool]:
        """Lark's answer, and whether ours is another."""
        expected = self.lark(sample)
        return expected, expected != (self.ours is not None and self.ours.judge(sample.encode()).accepted)


def pair(text: str, mode: Mode, *, start: str = "start", largest: int | None = None) -> Pair:
    """Raises SkippedError; AssertionError where one of the two refuses a grammar that the other takes."""
    grammar, refusal = None, None
    try:
        read = lark.read(text, start=start, lexer=mode)
        grammar = lark.parse(text, start=start, lexer=mode)
    except GrammarError as error:
        refusal = error
    if grammar is not None and largest is not None and sum(map(len, read.bodies.values())) > largest:
        raise SkippedError(f"more than {largest} alternatives")
    try:
        oracle = getattr(lark_oracle, mode)(text, start)
    except (LarkError, OSError):
        assert refusal is not None, f"only Lark refuses: {text}"
        raise SkippedError("refused by both") from None
    if grammar is None:
        assert isinstance(refusal, UnsupportedFeature | LimitExceeded), f"only we refuse ({refusal}): {text}"
        raise SkippedError(f"Lark takes it, we can't enforce it: {_reason(refusal)}")
    source = WithLexemes.of(text, start)
    try:
        return Pair(text, source, oracle, Recogniser(grammar))
    except EmptyLanguage:
        return Pair(text, source, oracle, None)
    except (UnsupportedFeature, LimitExceeded) as error:
        raise SkippedError(f"Lark takes it, we can't enforce it: {_reason(error)}") from None


def samples(grammar: WithLexemes, rng: random.Random, number: int, longest: int, signs: str) -> list[str]:
    """Different texts, most of them of the grammar, as they are and changed, and texts at random; all short."""
    sampler = LexedSampler(grammar, rng)
    found = {"": None, " ": None}
    for _ in range(20 * number):
        if len(found) >= number:
            break
        drawn = sampler.text(rng.randint(1, 6)) if rng.random() < 0.8 else None
        if drawn is None or len(drawn) > longest:
            drawn = "".join(rng.choice(signs) for _ in range(rng.randint(1, 8)))
        found[mutated(drawn, rng, signs) if rng.random() < 0.4 else drawn] = None
    return list(found)


def draw(mode: Mode, seed: int, number: int) -> tuple[str, random.Random]:
    """The grammar of a trial, and the numbers for its texts. For LALR(1), most are made to have no conflicts."""
    rng = random.Random(f"{seed} {mode} {number}")
    [made] = rng.choices((random_grammar, swallowing_grammar, deterministic_grammar), SHARES[mode])
    return made(rng), rng


def trial(mode: Mode, seed: int, number: int, texts: int, tally: Tally) -> None:
    """Compares one random grammar."""
    text, rng = draw(mode, seed, number)
    largest = LARGEST if mode == "dynamic" else None
    _compare(partial(pair, text, mode, largest=largest), mode, rng, texts, tally)


def files(mode: Mode) -> Iterator[tuple[str, str, str]]:
    """Name, text and start rule of every published grammar."""
    index = GRAMMARS / "files" / "INDEX.jsonl"
    for line in index.read_text(encoding="utf-8").splitlines() if index.is_file() else ():
        entry = json.loads(line)
        parser = {"dynamic": "earley", "contextual": "lalr"}[mode]
        if (entry.get("loads") or {}).get(parser) == "ok":
            start = entry.get("start") or "start"
            text = (GRAMMARS / "files" / entry["file"]).read_text(encoding="utf-8")
            yield entry["file"], text, start if isinstance(start, str) else start[0]


def _compare(make: Callable[[], Pair], kind: str, rng: random.Random, texts: int, tally: Tally) -> None:
    try:
        with _limited(12 * PATIENCE):
            found = make()
    except SkippedError as reason:
        tally.skipped[str(reason)] += 1
        return
    except AssertionError as error:
        tally.differences.append(str(error))
        return
    except _TooSlowError:
        tally.skipped["reading it takes too long"] += 1
        return
    tally.grammars += 1
    tally.empty += found.ours is None
    for sample in samples(found.source, rng, texts, LONGEST[kind], SIGNS[kind]):
        try:
            with _limited(PATIENCE):
                expected, different = found.differs(sample)
        except _TooSlowError:
            tally.slow += 1
            continue
        tally.texts += 1
        tally.accepted += expected
        if different:
            tally.differences.append(f"Lark {'accepts' if expected else 'rejects'} {sample!r}: {found.text}")


def _reason(refusal: GrammarError) -> str:
    """The refusal without what it says of this grammar alone."""
    told = refusal.limit if isinstance(refusal, LimitExceeded) else refusal.message
    if "conflict" in told:
        return "its parse table has conflicts"
    return _TERMINAL.sub("", told.removeprefix("Lark: "))


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooSlowError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)  # of our own processor time: others may be busy
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def show(name: str, tally: Tally, seconds: float) -> None:
    """The counts of one mode."""
    share = 100 * tally.accepted / max(tally.texts, 1)
    print(f"{name}: {tally.grammars} grammars compared ({tally.empty} of them empty) in {seconds:.0f} s")
    print(f"  texts {tally.texts}, of which Lark accepts {tally.accepted} ({share:.1f} %)")
    print(f"  differences {len(tally.differences)}; texts that Lark took too long for: {tally.slow}")
    for reason, times in tally.skipped.most_common():
        print(f"  not compared: {times:5d}  {reason}")
    for difference in tally.differences:
        print(f"  DIFFERENCE {difference}")
    sys.stdout.flush()


def main(words: Iterable[str] | None = None) -> int:
    """0 without a difference, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.grammar_cache.dialects.lark.trials", description=__doc__)
    parser.add_argument("grammars", type=int, help="grammars to compare in each mode")
    parser.add_argument("--texts", type=int, default=30, help="different texts of each (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--modes", nargs="+", choices=("dynamic", "contextual"), default=("dynamic", "contextual"))
    arguments = parser.parse_args(None if words is None else list(words))
    differences = 0
    for mode in arguments.modes:
        begun, tally = time.monotonic(), Tally()
        for number in count():
            if tally.grammars + len(tally.differences) >= arguments.grammars:
                break
            trial(mode, arguments.seed, number, arguments.texts, tally)
        show(f"random grammars, {mode}", tally, time.monotonic() - begun)
        differences += len(tally.differences)
        begun, tally = time.monotonic(), Tally()
        for name, text, start in files(mode):
            rng = random.Random(f"{arguments.seed} {name}")
            _compare(partial(pair, text, mode, start=start), "file", rng, arguments.texts, tally)
        show(f"published grammars, {mode}", tally, time.monotonic() - begun)
        differences += len(tally.differences)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
