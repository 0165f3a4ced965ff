"""The drone planning set: which tasks are taken, how answers are judged, and its grammar in two dialects."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark
from lark.exceptions import LarkError

from benchmarks.data import MissingData, data_file
from grammar_cache.compile import parse as parse_grammar
from grammar_cache.grammars.shipped import samples, shipped
from server.checking.membership import Recogniser
from server.evaluation.datasets.drone import PLACES, judge, lark_grammar, read
from server.evaluation.ltl.equivalence import equivalent
from server.evaluation.ltl.formula import Binary, Formula, Proposition, Unary
from server.evaluation.ltl.parser import DRONE, parse

GOLDEN = Path("ltl", "drone_planning_golden.jsonl")
SENTENCES = [
    ("over to the red room .", "F ( red_room )"),
    ("let me see you in the red room .", "F ( red_room )"),
    ("red room , please .", "F ( red_room )"),
    ("the blue room comes before the green one .", "F ( blue_room & F ( green_room ) )"),
    ("blue , then green .", "F ( blue_room & F ( green_room ) )"),
    ("first floor , but not landmark two .", "F ( first_floor & ~ landmark_2 )"),
    ("either way .", "F ( red_room )"),
    ("either way .", "F ( green_room )"),
    ("blue , then green .", "F ( blue_room & F ( green_room ) )"),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A small file in the set's shape: six sentences, another one with two formulas, and one twice."""
    path = tmp_path / "golden.jsonl"
    items = [{"id": f"item-{at}", "natural": sentence, "raw_ltl": raw} for at, (sentence, raw) in enumerate(SENTENCES)]
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


@pytest.fixture(scope="module")
def golden() -> list[dict[str, str]]:
    try:
        path = data_file(GOLDEN)
    except MissingData as missing:
        pytest.skip(str(missing))
    return [json.loads(line) for line in path.read_text().splitlines()]


# Tasks


def test_samples_are_spread_over_formulas(file: Path) -> None:
    """Each of the three formulas once, then the two that have another sentence, then the last."""
    tasks = read(file, 0, seed=5)
    counts = [Counter(task.gold for task in tasks[:n]) for n in (3, 5, 6)]
    assert [sorted(count.values()) for count in counts] == [[1, 1, 1], [1, 2, 2], [1, 2, 3]]
    assert {task.messages[-1]["content"] for task in tasks} == {sentence for sentence, _ in SENTENCES} - {
        "either way ."
    }


def test_a_larger_sample_begins_with_the_smaller(file: Path) -> None:
    """A larger sample begins with the smaller, and every task comes first by some seed."""
    for seed in range(5):
        names = [task.name for task in read(file, 0, seed)]
        assert all([task.name for task in read(file, n, seed)] == names[:n] for n in (1, 2, 4, 100))
    firsts = [read(file, 1, seed)[0] for seed in range(40)]
    assert {task.gold for task in firsts} == {task.gold for task in read(file, 0, seed=0)}
    assert len({task.name for task in firsts}) == 6


def test_a_task(file: Path) -> None:
    """A task's own reference is right, and the texts that are said to be short are valid; so are the examples."""
    for task in read(file, 0, seed=0):
        assert task.judge(task.gold).correct is True
        assert all(task.judge(text).valid for text in task.shorter)
        assert task.constraint == shipped("ltl_drone")
        assert task.forms == {"gbnf": task.constraint.text, "lark": lark_grammar()}
        assert [message["role"] for message in task.messages] == ["system", *["user", "assistant"] * 7, "user"]
        assert all(accepted_by_lark(m["content"], "earley") for m in task.messages if m["role"] == "assistant")


# The judge


@pytest.mark.parametrize(
    ("text", "syntax", "correct"),
    [
        ("F ( red_room & F ( blue_room ) )", True, True),
        ("F(red_room&F(blue_room))", True, True),
        ("F (\n  red_room & F blue_room\n)", True, True),
        ("F ( F ( blue_room ) & red_room )", True, True),
        ("~ G ~ ( red_room & F ( blue_room ) )", True, True),
        ("F ( red_room ) & F ( blue_room )", True, False),
        ("F ( blue_room & F ( red_room ) )", True, False),
        ("F ( red_room & F ( green_room ) )", True, False),
        ("red_room", True, False),
        ("F ( red_room & F ( white_room ) )", False, False),
        ("F ( red_room && F ( blue_room ) )", False, False),
        ("! G ~ ( red_room & F ( blue_room ) )", False, False),
        ("red_room | blue_room", False, False),
        ("F ( red_room & F ( blue_room )", False, False),
        ("F ( red_room & F ( blue_room ) ) .", False, False),
        ("The formula is F ( red_room )", False, False),
        ("", False, False),
    ],
)
def test_verdicts(text: str, syntax: bool, correct: bool) -> None:
    verdict = judge(text, parse("F ( red_room & F ( blue_room ) )", DRONE))
    assert (verdict.syntax, verdict.valid, verdict.correct) == (syntax, syntax, correct)
    assert bool(verdict.detail) is not correct


def test_details_say_why() -> None:
    gold = parse("F ( red_room )", DRONE)
    assert judge("F white_room", gold).detail == "no such place: white_room"
    assert judge("G red_room", gold).detail == "not the same on {} {red_room} ( {} ) for ever"
    assert judge("F" * 1000 + " red_room", gold).detail.startswith("unknown: ")
    assert judge("F" * 1000 + " red_room", gold).correct is False


# The grammar in two dialects


def mutated(texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A character gone, twice, or another."""
    return st.builds(
        lambda text, at, new: text[: at % len(text)] + new + text[at % len(text) + 1 :],
        texts,
        st.integers(0, 1000),
        st.sampled_from(["", " ", "  ", *"()FGXU~!&|_14"]),
    )


def sentences(places: tuple[str, ...] = PLACES, unary: str = "FG~", binary: str = "&U") -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from(places),
        lambda inner: (
            st.builds("( {} )".format, inner)
            | st.builds("{} {}".format, st.sampled_from(unary), inner)
            | st.builds("{} {} {}".format, inner, st.sampled_from(binary), inner)
        ),
        max_leaves=5,
    )


@settings(deadline=None)
@given(sentences())
def test_both_dialects_accept_formulas(text: str) -> None:
    """Either dialect accepts formulas, and the judge finds their syntax right."""
    assert accepted_by_all(text) == {True}
    assert judge(text, parse("F red_room")).syntax


@settings(deadline=None)
@given(mutated(sentences()) | mutated(mutated(sentences())))
def test_both_dialects_reject_the_same_typing_errors(text: str) -> None:
    assert len(accepted_by_all(text)) == 1


@settings(deadline=None)
@given(
    sentences(("red_room", "white_room", "landmark_4", "fourth_floor"))
    | sentences(unary="FX!")
    | sentences(binary="&W|")
)
def test_both_dialects_reject_the_same_tokens(text: str) -> None:
    assert len(accepted_by_all(text)) == 1


def test_both_dialects_agree_on_the_samples() -> None:
    assert all(accepted_by_all(text) == {True} for text in samples("ltl_drone").accepted)
    assert all(accepted_by_all(text) == {False} for text in samples("ltl_drone").rejected)


@settings(deadline=None, max_examples=50)
@given(sentences() | mutated(sentences()))
def test_llguidance_reads_the_lark_form(text: str) -> None:
    llguidance = pytest.importorskip("llguidance")
    tokenizer = llguidance.LLTokenizer("byte")
    matcher = llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_lark(lark_grammar()))
    accepted = matcher.consume_tokens(tokenizer.tokenize_str(text)) and matcher.is_accepting()
    assert accepted == accepted_by_lark(text, "earley")


def accepted_by_all(text: str) -> set[bool]:
    """Verdicts of the GBNF grammar, and of the Lark grammar by either of Lark's algorithms."""
    by_gbnf = recogniser().judge(text.encode()).accepted
    return {by_gbnf, accepted_by_lark(text, "earley"), accepted_by_lark(text, "lalr")}


def accepted_by_lark(text: str, algorithm: str) -> bool:
    try:
        lark_parser(algorithm).parse(text)
    except LarkError:
        return False
    return True


@cache
def lark_parser(algorithm: str) -> Lark:
    return Lark(lark_grammar(), parser=algorithm)


@cache
def recogniser() -> Recogniser:
    return Recogniser(parse_grammar(shipped("ltl_drone")))


# The set itself


def test_every_reference_is_a_formula_of_both_grammars(golden: list[dict[str, str]]) -> None:
    raw = {item["raw_ltl"] for item in golden}
    assert len(raw) > 100
    assert all(accepted_by_all(text) == {True} and judge(text, parse(text, DRONE)).correct for text in raw)


def test_both_notations_of_the_set_mean_the_same(golden: list[dict[str, str]]) -> None:
    """The set has each formula twice, the second time in words and with the operators in front: that decides what
    precedence its infix notation has.
    """
    pairs = {(item["raw_ltl"], item["canonical"]) for item in golden}
    assert all(equivalent(parse(raw, DRONE), from_words(canonical)) for raw, canonical in pairs)


def test_examples_are_not_in_the_set(golden: list[dict[str, str]]) -> None:
    """Neither their sentences nor their formulas."""
    [task] = read(data_file(GOLDEN), 1, seed=0)
    examples = {message["content"] for message in task.messages[1:-1]}
    assert len(examples) == 14
    assert examples.isdisjoint({item["natural"] for item in golden} | {item["raw_ltl"] for item in golden})


def test_a_sample_of_the_set(golden: list[dict[str, str]]) -> None:
    """A sample has as many formulas as tasks, all from the file."""
    tasks = read(data_file(GOLDEN), 100, seed=1)
    assert len({task.gold for task in tasks}) == len({task.messages[-1]["content"] for task in tasks}) == 100
    assert {(task.messages[-1]["content"], task.gold) for task in tasks} <= {
        (item["natural"], item["raw_ltl"]) for item in golden
    }


def from_words(canonical: str) -> Formula:
    """The set's second notation: `until ( not ( the red room ) , landmark 1 )`."""
    formula, rest = _operand(canonical.split())
    assert rest == []
    return formula


def _operand(words: list[str]) -> tuple[Formula, list[str]]:
    match words:
        case [("finally" | "not") as operator, "(", *rest]:
            operand, rest = _operand(rest)
            return Unary(operator, operand), rest[1:]
        case ["always" | "globally", "(", *rest]:
            operand, rest = _operand(rest)
            return Unary("globally", operand), rest[1:]
        case [("and" | "until") as operator, "(", *rest]:
            left, rest = _operand(rest)
            right, rest = _operand(rest[1:])
            return Binary(operator, left, right), rest[1:]
        case ["the", kind, place, *rest]:
            return Proposition(f"{kind}_{place}"), rest
        case [kind, number, *rest]:
            return Proposition(f"{kind}_{number}"), rest
    raise AssertionError(words)
