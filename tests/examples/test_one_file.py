"""`examples/one_file.py` is the readable twin of the core: on random grammars both compute the same.

The core runs without inlining, without fuel for searches and without jumps, and no byte is too dear for it: what the
single file leaves out.
"""

from __future__ import annotations

import math
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grammar_cache import Constraint
from grammar_cache.compile import compile_grammar
from grammar_cache.configurations.interner import Configurations
from grammar_cache.dialects.gbnf import compiler as gbnf
from grammar_cache.distances.additive import INFINITE, Distances
from grammar_cache.errors import EmptyLanguage
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.interrupt import Interrupt
from grammar_cache.network import inlining
from grammar_cache.network.network import build
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.decoder import Decoder
from server.decoding.parameters import Parameters
from tests import oracle
from tests.examples.one_file_cases import ADDITIVE, FILE, Case, cases, one_file
from tests.server.decoding.stepping import advance
from tests.strategies import examples

LONGEST = 6
LOGITS = (-2.0, -1.0, -1.0, 0.0, 0.0, 0.5)
"""Few values, so that many are equal."""


@pytest.fixture(autouse=True)
def nothing_inlined(monkeypatch: pytest.MonkeyPatch) -> None:
    """The single file calls every rule, and spells every repetition out."""
    monkeypatch.setattr(inlining, "INLINE_SIZE", -1)
    monkeypatch.setattr(inlining, "UNROLL_SIZE", 1 << 20)


def boundaries(case: Case, machine: Any, most: int = 24) -> Iterator[tuple[bytes, Any]]:
    """Texts that whole tokens spell, breadth first, with their configurations."""
    todo, seen = [(b"", machine.start)], {b""}
    for text, configuration in todo:
        yield text, configuration
        for token in filter(None, case.tokens):
            longer, after = text + token, machine.read(configuration, token)
            if after is not None and longer not in seen and len(seen) < most:
                seen.add(longer)
                todo.append((longer, after))


def check_texts(case: Case) -> None:
    machine, words = case.machine(), oracle.words(case.grammar, case.letters, LONGEST)
    for text in oracle.all_words(case.letters, LONGEST):
        found = machine.read(machine.start, text)
        assert (found is not None and found.distance == 0) == (text in words), text


@given(cases())
@examples(25)
def test_it_accepts_the_texts_of_the_language(case: Case) -> None:
    """Every string over the letters up to a length: judged as by enumeration of the grammar's words."""
    check_texts(case)


@pytest.mark.full
@pytest.mark.timeout(1800)
@given(cases())
@examples(1000)
def test_it_accepts_the_texts_of_the_language_at_length(case: Case) -> None:
    """Runs the trials of the quick tier on many more grammars."""
    check_texts(case)


def check_distances(case: Case) -> None:
    machine = case.machine()
    try:
        network = build(gbnf.parse(case.text), ADDITIVE)
    except EmptyLanguage:
        assert machine.start.distance == math.inf
        return
    core = Configurations(network, ADDITIVE.configurations)
    distances = Distances(core, case.vocabulary(), Interrupt())
    texts = {*oracle.all_words(case.letters, 4), *(text for text, _ in boundaries(case, machine))}
    for text in sorted(texts):
        theirs: int = core.start
        for byte in text:
            theirs = theirs if theirs < 0 else core.step(theirs, byte)
        ours = machine.read(machine.start, text)
        assert (ours is None) == (theirs < 0), text
        if ours is not None:
            distances.update()
            known = int(distances.additive[theirs])
            assert ours.distance == (math.inf if known >= INFINITE else known), text
            nearer = [after.distance for after in machine.viable(ours, ours.distance).values()]
            assert ours.distance in (0, math.inf) or nearer


@pytest.mark.parametrize(
    ("text", "tokens", "least"),
    [
        ('root ::= "a"* "bbb"', [b"a", b"b", b"abbb"], 3),
        ('root ::= x "c"\nx ::= "a"* "bb" | x "c"', [b"a", b"aa", b"b", b"aabbc", b"c"], 3),
        ('root ::= "a"* "b"', [b"a", b"aab"], math.inf),
    ],
)
def test_costs_leave_out_what_the_core_leaves_out(text: str, tokens: list[bytes], least: float) -> None:
    """Below a token that leads where a shorter one led, a cheaper one is not looked for, here as there."""
    case = Case(text, gbnf.parse(text), b"abc", tuple(tokens))
    assert case.machine().start.distance == least
    check_distances(case)


@given(cases())
@examples(40)
def test_its_distances_are_those_of_the_core(case: Case) -> None:
    """The additive distance behind every short text and at every token boundary; where it is finite, a witness."""
    check_distances(case)


@pytest.mark.full
@pytest.mark.timeout(1800)
@given(cases())
@examples(2000)
def test_its_distances_are_those_of_the_core_at_length(case: Case) -> None:
    """The quick test, on many more grammars and vocabularies."""
    check_distances(case)


def check_masks(case: Case) -> None:
    machine, core = case.machine(), case.compiled()
    if core is None:
        assert machine.start.distance == math.inf
        return
    assert core.minimum.tokens == machine.start.distance
    for text, ours in boundaries(case, machine, 8):
        theirs = core.consume_bytes(core.start, text)
        assert theirs is not None
        for budget in (1, 2, 3, 5):
            viable = set(machine.viable(ours, budget))
            assert viable == set(np.flatnonzero(core.mask(theirs, budget)).tolist()), (text, budget)


@given(cases())
@examples(50)
def test_its_masks_and_minimum_are_those_of_the_core(case: Case) -> None:
    """Masks and minimum agree at every token boundary and for small budgets, the end token included."""
    check_masks(case)


class Script:
    """Logits that are a function of the text alone, many of them equal."""

    def __init__(self, case: Case, seed: int) -> None:
        self.case, self.seed = case, seed

    def of_text(self, text: bytes) -> list[float]:
        chance = random.Random(f"{self.seed} {text!r}")
        return [chance.choice(LOGITS) for _ in range(self.case.end + 1)]

    def of_tokens(self, tokens: tuple[int, ...]) -> Sequence[float]:
        return self.of_text(b"".join(self.case.tokens[token] for token in tokens))


def unasked(tokens: tuple[int, ...]) -> Sequence[float]:
    raise AssertionError("the model is asked for a request that is to be refused")


def core_answer(core: CompiledGrammar, script: Script, parameters: Parameters) -> tuple[bytes, float]:
    decoder = Decoder(core, parameters)
    rows = [b""]
    while decoder.answer is None:
        wanted = decoder.wanted
        pairs = zip(wanted.parents, wanted.tokens, strict=True)
        rows = [rows[parent] + core.vocabulary.text(tokens) for parent, tokens in pairs]
        advance(decoder, np.array([script.of_text(text) for text in rows], np.float32))
    return decoder.answer.text, decoder.answer.score


def check_answers(case: Case, seed: int, width: int, alpha: float) -> None:
    machine, core = case.machine(), case.compiled()
    assume(core is not None)
    assert core is not None
    script, least = Script(case, seed), core.minimum.tokens
    if least:
        with pytest.raises(ValueError, match=f"^{least} tokens are needed"):
            one_file().complete(machine, unasked, least - 1)
    for budget in (least, least + 1, least + 4):
        found = one_file().complete(machine, script.of_tokens, budget, width=width, alpha=alpha)
        used, ours, distance, own = len(found.tokens), found.text, found.configuration.distance, found.score
        # A failure shows these values, not the answer: the representation of its configuration has no end.
        assert used <= budget
        assert distance == 0
        parameters = Parameters(budget=budget, beam_width=width, alpha=alpha, jump_forward=False)
        text, score = core_answer(core, script, parameters)
        assert ours == text
        assert width == 1 or own == pytest.approx(score, abs=1e-9)


@given(cases(distinct=True), st.integers(0, 99), st.sampled_from([1, 2, 3]), st.sampled_from([0.0, 0.25, 1.0]))
@examples(35)
def test_its_answers_are_those_of_the_core(case: Case, seed: int, width: int, alpha: float) -> None:
    """Greedy ones and beams, with many equal logits, from the smallest budget on; below it the same refusal."""
    check_answers(case, seed, width, alpha)


@pytest.mark.full
@pytest.mark.timeout(1800)
@given(cases(distinct=True), st.integers(0, 99), st.sampled_from([1, 2, 3, 5]), st.sampled_from([0.0, 0.25, 1.0]))
@examples(1500)
def test_its_answers_are_those_of_the_core_at_length(case: Case, seed: int, width: int, alpha: float) -> None:
    """The quick test, on many more grammars, vocabularies and models."""
    check_answers(case, seed, width, alpha)


@pytest.mark.parametrize("logit", [math.nan, math.inf, -math.inf, 1e300])
def test_any_logits_give_a_complete_text(logit: float) -> None:
    """Models that answer nonsense: greedy, drawn and by beams the text is complete at the smallest budget."""
    module = one_file()
    machine = module.Machine('root ::= root "+" [1-3]{2} | [1-3]{2}', [b"1", b"2", b"+", b"1+", b"3", b""], 5)
    for options in ({}, {"heat": 1.0}, {"width": 3, "alpha": 0.5}):
        for budget in (2, 3, 7):
            found = module.complete(machine, lambda tokens: [0.0, logit, 1.0, -logit, logit, 0.0], budget, **options)
            assert found.configuration.distance == 0
            assert len(found.tokens) <= budget


def test_draws_follow_the_softmax_of_viable_tokens() -> None:
    """Draws among three tokens, one of which is not viable, choose the other two as their weights say."""
    module = one_file()
    machine = module.Machine('root ::= "a" | "b" | "cc"', [b"a", b"b", b"c"])
    draws = Counter(
        module.complete(machine, lambda tokens: [math.log(3), 0.0, 9.0], 1, heat=1.0, seed=seed).text
        for seed in range(2000)
    )
    assert set(draws) == {b"a", b"b"}
    assert abs(draws[b"a"] / 2000 - 0.75) < 0.04  # four standard deviations


def test_it_reads_the_notation() -> None:
    """Escapes, classes of characters of any length, counts, comments; what is wrong is refused."""
    module = one_file()
    text = r'root ::= "\"\x41\n" [^a-c"\]]{2,3} # a comment' + "\n" + r'  | item+ item? [-x]* | "é\\𝄞\t\u00e9"'
    text += '\nitem ::= ("k" | "日")'
    machine = module.Machine(text, [bytes([byte]) for byte in range(256)])
    core = compile_grammar(Constraint("gbnf", text), Vocabulary([bytes([byte]) for byte in range(256)], []))
    for sample in (
        '"A\ndè',
        '"A\n𝄞ßz',
        '"A\nab',
        '"A\né1',
        '"A\n]]',
        '"A\n日本語x',
        "k",
        "日k-x-",
        "x",
        "",
        '"A\n\ud7ff',
        "é\\𝄞\té",
        "é\\𝄞é",
    ):
        ours = machine.read(machine.start, sample.encode())
        theirs = core.consume_bytes(core.start, sample.encode())
        assert (ours is None) == (theirs is None), sample
        assert ours is None or (ours.distance == 0) == core.accepts(theirs or 0), sample
    for wrong in (
        "root",
        "root ::= a",
        'root ::= ("a"',
        'root ::= "a" root ::= "b"',
        "root ::= @",
        'a ::= "b"',
        "root ::= *",
    ):
        with pytest.raises((ValueError, IndexError)):
            module.Machine(wrong, [b"a"])


def test_it_runs_and_is_short() -> None:
    """The file prints a cut text, a complete one and the worked example, with nothing installed, in at most 400
    lines.
    """
    done = subprocess.run([sys.executable, "-I", "-S", str(FILE)], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    texts = [line.partition(": {")[2] for line in lines if line.startswith("T = 12")]
    assert [text.endswith("}") for text in texts] == [False, True]
    assert "[1, 2, 3, 4, 5]" in done.stdout
    assert lines[-1].endswith("()x with the score -0.523")
    assert len(FILE.read_text().splitlines()) <= 400


@pytest.mark.full
def test_it_is_typed() -> None:
    """The file is typed as strictly as the packages, beside which mypy doesn't look at it."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(FILE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
