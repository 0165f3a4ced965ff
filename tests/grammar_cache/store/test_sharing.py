"""Grammars through a store: the same texts with it and without, whatever is in it."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from grammar_cache import Constraint, compile_grammar
from grammar_cache.artefact.artefact import to_bytes
from grammar_cache.compile import compile_expression
from grammar_cache.distances.claims import Claim, Finding, HorizonClaim
from grammar_cache.errors import EmptyLanguage, GrammarError, Interrupted
from grammar_cache.expression import Alt, Bytes, Expression, Grammar, Ref, Seq
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import Limits
from grammar_cache.store.database import Database
from grammar_cache.store.seals import Seals
from grammar_cache.store.sharing import SharedGrammars
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.answer import Answer
from server.decoding.decoder import Decoder
from tests.expression_matcher import matches
from tests.grammar_cache.store.databases import SECRET, counted, database, until
from tests.server.decoding.stepping import advance
from tests.server.decoding.trials.trials import LETTERS, MODELS, random_logits, random_parameters, random_vocabulary
from tests.strategies import SEARCH

SHORT = Limits(start_fuel=100_000, step_fuel=20_000)
"""Many searches run dry, and some don't."""

FEW = range(16)
"""Trials of the quick tests: steps near the horizon search in most of them."""

Poison = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True, slots=True)
class Trial:
    """A grammar, a vocabulary and limits, and answers that all follow from the trial's number."""

    number: int
    grammar: Grammar | Constraint
    vocabulary: Vocabulary
    limits: Limits

    @property
    def name(self) -> str:
        return f"grammar {self.number}"

    def compiled(self) -> CompiledGrammar:
        if isinstance(self.grammar, Constraint):
            return compile_grammar(self.grammar, self.vocabulary, self.limits)
        return compile_expression(self.grammar, self.vocabulary, self.limits)

    def answers(self, grammar: CompiledGrammar) -> list[Answer]:
        """Answers of four models, with budgets that are mostly tight: there searches decide."""
        return [self._answer(grammar, 4 * self.number + n) for n in range(4)]

    def _answer(self, grammar: CompiledGrammar, seed: int) -> Answer:
        rng, logits = random.Random(seed), np.random.default_rng(seed)
        decoder = Decoder(grammar, random_parameters(rng, seed, grammar.minimum.tokens))
        model = rng.choice(MODELS)
        while decoder.answer is None:
            advance(decoder, random_logits(model, logits, grammar, len(decoder.wanted.parents)))
        return decoder.answer


def brackets(rng: random.Random) -> dict[str, list[list[str]]]:
    """Rules that nest in each other between words, which tokens may span. Upper case names rules."""
    names = ["START", "A", "B"][: rng.randint(1, 3)]

    def word() -> str:
        return "".join(rng.choices(LETTERS.decode(), k=rng.randint(1, 2)))

    def nested() -> list[str]:
        return [word(), rng.choice(names), *rng.choices(names, k=rng.random() < 0.3), word()]

    return {name: [*(nested() for _ in range(rng.randint(1, 3))), [word()]] for name in names}


def as_grammar(rules: dict[str, list[list[str]]]) -> Grammar:
    def part(text: str) -> Expression:
        return Ref(text) if text.isupper() else Bytes(text.encode())

    bodies = {name: Alt(tuple(Seq(tuple(map(part, parts))) for parts in body)) for name, body in rules.items()}
    return Grammar(bodies, "START")


def as_lark(rules: dict[str, list[list[str]]]) -> str:
    """Rules in Lark, with terminals that may go on, and one that is ignored."""

    def part(text: str) -> str:
        return text.lower() if text.isupper() else f'"{text}"'

    bodies = [
        f"{name.lower()}: {' | '.join(' '.join(map(part, parts)) for parts in body)}" for name, body in rules.items()
    ]
    return "\n".join([*bodies, '%ignore "_"'])


def trials(numbers: Iterable[int], limits: Limits) -> Iterator[Trial]:
    """Trials of which there is a text."""
    for number in numbers:
        rng = random.Random(number)
        trial = Trial(number, as_grammar(brackets(rng)), random_vocabulary(rng), limits)
        try:
            trial.compiled()
        except EmptyLanguage:
            continue
        yield trial


def lark_trials(numbers: Iterable[int]) -> Iterator[Trial]:
    """Trials with a lexer, of either kind."""
    for number in numbers:
        rng = random.Random(number)
        constraint = Constraint("lark", as_lark(brackets(rng)), lexer="contextual" if number % 2 else None)
        trial = Trial(number, constraint, random_vocabulary(rng), SEARCH)
        try:
            trial.compiled()
        except GrammarError:
            continue
        yield trial


def first_trial() -> Trial:
    return next(trials(range(10), SEARCH))


@contextmanager
def sharing(path: Path, trial: Trial) -> Iterator[tuple[SharedGrammars, Database]]:
    """The sharing of one process; all is written when the block ends."""
    with database(f"sqlite://{path}", grammar_limits=trial.limits) as opened:
        yield SharedGrammars(opened, trial.vocabulary, trial.limits), opened


POISONS: dict[str, Poison] = {
    "random": lambda value, rng: rng.randbytes(len(value)),
    "one byte": lambda value, rng: value[: (i := rng.randrange(len(value)))] + bytes([value[i] ^ 1]) + value[i + 1 :],
    "cut": lambda value, rng: value[: rng.randrange(len(value))],
    "lower distance": lambda value, rng: bytes([value[0] ^ 1]) + bytes(3) + value[4:],
}


def poison(path: Path, how: Poison, rng: random.Random) -> None:
    """Changes every value in a file."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, key in (("artefacts", "name"), ("entries", "key")):
            for name, place, value in connection.execute(f"SELECT name, {key}, value FROM {table}").fetchall():
                changed = (how(value, rng), name, place)
                connection.execute(f"UPDATE {table} SET value = ? WHERE name = ? AND {key} = ?", changed)


@dataclass(frozen=True, slots=True)
class Saved:
    """Claims that were told, and the searches of answers: without a store, and by whom has all claims."""

    claims: int
    alone: int
    told: int


def check_same_texts(folder: Path, trial: Trial) -> Saved:
    """Off, empty, full, and poisoned by somebody without the secret: the same answers."""
    path, alone = folder / f"{trial.number}.sqlite3", trial.compiled()
    before = _searches(alone)
    expected = trial.answers(alone)
    searches = []
    for filled in (False, True):
        with sharing(path, trial) as (shared, _):
            grammar, found = shared.get(trial.name, trial.compiled, 10)
            assert found is filled
            loaded = _searches(grammar)
            assert trial.answers(grammar) == expected
            assert grammar.rejected_claims == 0
            searches.append(grammar.effort.searches - loaded)
            shared.tell(trial.name, grammar.learned())
    assert searches[0] == alone.effort.searches - before
    with sharing(path, trial) as (_, opened):
        claims = len(opened.load(trial.name).claims)
    rng = random.Random(trial.number)
    poison(path, rng.choice(list(POISONS.values())), rng)
    with sharing(path, trial) as (shared, opened):
        grammar, found = shared.get(trial.name, trial.compiled, 10)
        assert not found
        assert trial.answers(grammar) == expected
        assert counted(opened)["rejected"] > claims
    return Saved(claims, *searches)


def _searches(grammar: CompiledGrammar) -> int:
    """Number of searches for the minimum, which is part of every grammar."""
    _ = grammar.minimum
    return grammar.effort.searches


def check_saving(folder: Path, some: Iterable[Trial]) -> None:
    """Checks that steps tell what they find, and that whoever is told searches no more for it."""
    saved = [check_same_texts(folder, trial) for trial in some]
    assert sum(one.claims for one in saved) > 10
    assert sum(one.told for one in saved) < sum(one.alone for one in saved) / 4


@pytest.mark.parametrize("limits", [SEARCH, SHORT], ids=["enough fuel", "little fuel"])
def test_the_same_texts_with_a_store_and_without(tmp_path: Path, limits: Limits) -> None:
    """Tokens, scores and all, on random grammars with random models; also where searches run dry."""
    check_saving(tmp_path, trials(FEW, limits))


def test_the_same_texts_of_lark_grammars(tmp_path: Path) -> None:
    """States are read in lexer contexts there, which are numbered as they are met."""
    check_saving(tmp_path, lark_trials(FEW))


@pytest.mark.full
def test_the_same_texts_at_length(tmp_path: Path) -> None:
    """Runs the quick tests on many more grammars."""
    for number, some in enumerate((trials(range(200), SEARCH), trials(range(200), SHORT), lark_trials(range(60)))):
        (tmp_path / f"{number}").mkdir()
        check_saving(tmp_path / f"{number}", some)


def lie(claim: Finding, tokens: list[int], rng: random.Random) -> Finding:
    """The beginning of each witness, and something behind it; sometimes fewer of them."""
    if isinstance(claim, Claim):
        witness = _bent(claim.witness, tokens, rng)
        return Claim(rng.choice((len(witness), len(witness), 1)), witness)
    kept = [way for way in claim.ways if rng.random() < 0.7]
    return HorizonClaim(claim.tokens, tuple(_bent(way, tokens, rng) if rng.random() < 0.5 else way for way in kept))


def _bent(way: tuple[int, ...], tokens: list[int], rng: random.Random) -> tuple[int, ...]:
    return *way[: rng.randrange(len(way))], *rng.choices(tokens, k=rng.randrange(3))


def test_lies_of_somebody_with_the_secret(tmp_path: Path) -> None:
    """Claims of any kind, rightly sealed: answers belong to the language and fit their budgets all the same."""
    rejected = 0
    for trial in trials(FEW, SEARCH):
        path, rng = tmp_path / f"{trial.number}.sqlite3", random.Random(trial.number)
        tokens = [number for number, token in enumerate(trial.vocabulary.token_bytes) if token]
        with sharing(path, trial) as (shared, opened):
            grammar, _ = shared.get(trial.name, trial.compiled, 10)
            trial.answers(grammar)
            opened.learn(trial.name, {key: lie(claim, tokens, rng) for key, claim in grammar.learned().items()})
        with sharing(path, trial) as (shared, _):
            grammar, found = shared.get(trial.name, trial.compiled, 10)
            assert found
            for answer in trial.answers(grammar):
                assert isinstance(trial.grammar, Grammar)
                assert matches(trial.grammar, answer.text)
                assert answer.complete
            rejected += grammar.rejected_claims
    assert rejected > 5


def test_an_artefact_that_is_none_is_compiled_anew(tmp_path: Path) -> None:
    """Rightly sealed, but for other tokens or limits, of another version, or no artefact at all: counted, replaced."""
    trial, path = first_trial(), tmp_path / "store.sqlite3"
    right = to_bytes(trial.compiled())
    tokens = Vocabulary([*trial.vocabulary.token_bytes, b"abc"], [])
    foreign = [replace(trial, vocabulary=tokens), replace(trial, limits=SHORT)]
    for wrong in (
        b"",
        b"none",
        right[:-1],
        right[:8] + b"\xff" + right[9:],
        *(to_bytes(t.compiled()) for t in foreign),
    ):
        with sharing(path, trial) as (_, opened):
            opened.keep(trial.name, wrong)
        with sharing(path, trial) as (shared, opened):
            assert not shared.get(trial.name, trial.compiled, 10).found
            assert counted(opened)["rejected"] >= 1
        with sharing(path, trial) as (shared, _):
            assert shared.get(trial.name, trial.compiled, 10).found


def test_of_four_processes_one_compiles(tmp_path: Path) -> None:
    """The others wait, and have its grammar."""
    trial, together, compiled = first_trial(), Barrier(4), list[int]()

    def make() -> CompiledGrammar:
        compiled.append(1)
        return trial.compiled()

    def ask(_: int) -> bool:
        with sharing(tmp_path / "store.sqlite3", trial) as (shared, _opened):
            together.wait()
            return shared.get(trial.name, make, 60).found

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(ask, range(4))) == [False, True, True, True]
    assert compiled == [1]


def test_who_waits_can_be_stopped(tmp_path: Path) -> None:
    """Nobody wants the grammar any more that another process is making."""
    trial, interrupt = first_trial(), Interrupt()
    with sharing(tmp_path / "store.sqlite3", trial) as (shared, opened):
        assert opened.acquire(Seals(SECRET).name(trial.name, trial.limits), "another")
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(shared.get, trial.name, trial.compiled, 60, interrupt)
            until(lambda: counted(opened).get("misses", 0) > 2)
            interrupt.set()
            with pytest.raises(Interrupted):
                waiting.result(60)


def test_a_refusal_is_raised(tmp_path: Path) -> None:
    """A refusal is raised and not kept, and the next one tries for itself at once."""
    trial = first_trial()

    def refuse() -> CompiledGrammar:
        raise EmptyLanguage("nothing")

    with sharing(tmp_path / "store.sqlite3", trial) as (shared, _):
        for _attempt in range(3):
            with pytest.raises(EmptyLanguage):
                shared.get(trial.name, refuse, 60)
        assert not shared.get(trial.name, trial.compiled, 60).found
