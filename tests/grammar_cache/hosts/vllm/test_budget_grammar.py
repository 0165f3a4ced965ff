"""Grammar objects of the engine core, under a scheduler of one request: drafts, thoughts, hostile models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from grammar_cache import Constraint, compile_grammar
from grammar_cache.errors import BudgetTooSmall
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.conformance.cases import CASES, ConformanceCase, small_vocabulary
from grammar_cache.hosts.conformance.hostile_scores import HOSTILE, Model, Scores
from grammar_cache.hosts.conformance.laws import check_answers
from grammar_cache.hosts.vllm.budget_grammar import BudgetGrammar, Thoughts
from grammar_cache.vocabulary.vocabulary import Vocabulary
from tests.grammar_cache.hosts.vllm.scheduling import THINK_END, Rows, answer

VOCABULARY = small_vocabulary()
OBJECT = next(case for case in CASES if "additionalProperties" in case.constraint.text)


def generated(drafter: str | None, drafts: int, grammar: CompiledGrammar, budget: int, model: Model) -> Sequence[int]:
    guessing = HOSTILE[drafter](grammar.vocabulary) if drafter else None
    return answer(grammar, budget, model, drafter=guessing, drafts=drafts)[1]


@pytest.mark.parametrize("number", range(0, len(CASES), 3))
def test_the_grammar_passes_the_conformance_kit(number: int) -> None:
    """Answers with and without drafts, of drafters that think alike or not, are complete within their budgets."""
    check_case(CASES[number], [list(HOSTILE)[number % len(HOSTILE)]])


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.constraint.text[:30])
def test_the_grammar_passes_all_of_the_conformance_kit(case: ConformanceCase) -> None:
    """Runs all cases with all hostile models."""
    check_case(case, list(HOSTILE))


def check_case(case: ConformanceCase, models: list[str]) -> None:
    grammar = compile_grammar(case.constraint, VOCABULARY)
    for drafter, drafts in ((None, 0), ("by chance", 3), ("always longer", 5)):
        check_answers(case, grammar, partial(generated, drafter, drafts), models)


def test_drafts_change_no_text() -> None:
    """Greedy answers with drafts, right or wrong, are those without."""
    grammar = compile_grammar(OBJECT.constraint, VOCABULARY)
    for name in ("by chance", "always longer"):
        model = HOSTILE[name](VOCABULARY)
        for budget in (grammar.minimum.tokens, 40):
            alone = generated(None, 0, grammar, budget, model)
            assert generated(name, 4, grammar, budget, model) == alone
            assert generated("always deeper", 2, grammar, budget, model) == alone


def thinker(answering: Model, thoughts: int, closer: Sequence[int]) -> Model:
    """Model that closes its thoughts after so many tokens, if it is let."""

    def scores(tokens: Sequence[int]) -> Scores:
        found = answering(tokens).copy()
        found[list(closer)] = -50.0
        if thoughts <= len(tokens) < thoughts + len(closer):
            found[closer[len(tokens) - thoughts]] = 500.0
        return found

    return scores


@pytest.mark.parametrize("closer", [(THINK_END,), (61, 48, 63)], ids=["one token", "three tokens"])
@pytest.mark.parametrize("drafts", [0, 1, 4])
def test_thoughts_leave_room_for_the_answer(closer: tuple[int, ...], drafts: int) -> None:
    """Models that think briefly, or never stop, give a complete answer behind the closer, all within the budget."""
    case = OBJECT
    grammar = compile_grammar(case.constraint, VOCABULARY)
    least = grammar.minimum.tokens + len(closer)
    for name in ("by chance", "always the end", "always longer", "not a number"):
        for thoughts in (0, 5, 1_000):
            model = thinker(HOSTILE[name](VOCABULARY), thoughts, closer)
            for budget in (least, least + 1, least + 9, 60):
                given, found = answer(
                    grammar, budget, model, drafter=model, drafts=drafts, closer=closer, reserve=budget // 4
                )
                assert tuple(given[-len(closer) :]) == closer
                found = [token for token in found if token not in VOCABULARY.stop_ids]
                assert len(given) + len(found) <= budget
                assert case.judge(VOCABULARY.text(found).decode(errors="replace"))
                assert budget < 60 or thoughts < 1_000 or len(found) >= 1


@pytest.mark.parametrize("implicit", [False, True])
def test_a_certificate_is_of_thoughts_and_answer_together(implicit: bool) -> None:
    """However thoughts end: by their closer, or because vLLM says so of the first token of the answer."""
    vocabulary = Vocabulary([b"a", b"b", b"</t>", None], [3])
    grammar = compile_grammar(Constraint("regex", "ab"), vocabulary)
    made = BudgetGrammar(grammar, 20, frozenset([3]), Thoughts((2,), 4))
    if implicit:
        assert made.commit([1, 1, 1, 1, 0])
        assert made.end_thoughts(1)
        assert made.commit([1, 3])
    else:
        assert made.commit([1, 1, 1, 1, 2, 0, 1, 3])
    found = made.certificate()
    assert (found.complete, found.budget, found.tokens_used, found.min_tokens) == (True, 20, 8 - implicit, 3)
    assert made.tight_places == ()


def test_tight_places_lie_behind_thoughts_that_vllm_ends() -> None:
    """The budget narrows the mask of a thought, and then of the answer: places are counted from the first token on."""
    vocabulary = Vocabulary([b"a", b"b", b"</t>", None], [3])
    grammar = compile_grammar(Constraint("regex", "a+b?"), vocabulary)
    made = BudgetGrammar(grammar, 6, frozenset([3]), Thoughts((2,), 2))
    assert made.commit([1, 1, 0])
    before = made.tight_places
    assert made.end_thoughts(1)
    assert made.commit([0, 0, 0])
    after = made.tight_places
    assert after[: len(before)] == before
    assert all(place < made.certificate().tokens_used for place in after)
    assert made.certificate().tight_steps == len(after)


def test_the_reserve_is_left() -> None:
    """A model that never stops thinking leaves the reserve to its answer, and no less."""
    grammar = compile_grammar(Constraint("regex", "[a-z]{1,100}"), VOCABULARY)
    model = thinker(HOSTILE["never the end"](VOCABULARY), 1_000, (THINK_END,))
    given, found = answer(grammar, 60, model, closer=(THINK_END,), reserve=20)
    assert (len(given), len(found)) == (40, 20)


def test_too_little_is_refused() -> None:
    """Thoughts need their closer: with it, a budget may be too small."""
    grammar = compile_grammar(OBJECT.constraint, VOCABULARY)
    with pytest.raises(BudgetTooSmall):
        answer(grammar, grammar.minimum.tokens, HOSTILE["by chance"](VOCABULARY), closer=(THINK_END,))


def test_a_mask_that_fails_is_that_of_the_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors in masks don't reach the engine: the answer follows its completion, and is complete."""
    grammar = compile_grammar(OBJECT.constraint, VOCABULARY)

    def broken(self: object, row: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr("grammar_cache.hosts.cursor.Cursor.fill", broken)
    found = generated(None, 0, grammar, 60, HOSTILE["by chance"](VOCABULARY))
    assert tuple(found[: grammar.minimum.tokens]) == grammar.witness(grammar.start)
    assert OBJECT.judge(VOCABULARY.text(found).decode())


def masks(grammar: CompiledGrammar, tokens: Sequence[int], **options: Any) -> list[set[int]]:
    """Tokens that are allowed before each of these, and behind them."""
    ends = options.pop("ends", frozenset(grammar.vocabulary.stop_ids))
    place = BudgetGrammar(grammar, 9, ends, **options)
    found = []
    for token in [*tokens, None]:
        rows = Rows(1, -(-grammar.vocabulary.size // 32))
        place.begin_step(())
        place.fill_bitmask(rows, 0)
        place.end_step()
        found.append(set(np.flatnonzero(rows.allowed(0, grammar.vocabulary.size)).tolist()))
        assert token is None or place.commit([token])
    return found


LETTERS = Vocabulary([b"a", b"b", None, None], [2])


def test_the_shortest_answer_ends_where_it_is_complete() -> None:
    """Behind the first complete text an end alone is allowed."""
    grammar = compile_grammar(Constraint("regex", "a+b?"), LETTERS)
    assert masks(grammar, [0]) == [{0}, {0, 1, 2}]
    assert masks(grammar, [0], shortest=True) == [{0}, {2}]


def test_no_end_comes_too_soon() -> None:
    """Ends are kept out before so many tokens, but where nothing else may come."""
    grammar = compile_grammar(Constraint("regex", "a+b?"), LETTERS)
    assert masks(grammar, [0, 0], ends_from=2) == [{0}, {0, 1}, {0, 1, 2}]
    assert masks(grammar, [0, 1], ends_from=5) == [{0}, {0, 1}, {2}]


def test_a_vocabulary_without_ends_ends_by_another_token() -> None:
    """A token without text ends what nothing can follow, and nothing else."""
    grammar = compile_grammar(Constraint("regex", "ab?"), Vocabulary([b"a", b"b", None], []))
    assert masks(grammar, [0, 1], ends=frozenset({2})) == [{0}, {1}, {2}]
    place = BudgetGrammar(grammar, 9, frozenset({2}))
    assert not place.commit([2])
    assert place.commit([0, 1, 2])


def test_an_end_that_the_vocabulary_does_not_have_is_counted_as_another() -> None:
    """A token without text that ends an answer is one of its tokens, and tight where the budget left nothing else."""
    for ids, stop_ids in (([b"a", b"b", None], []), ([b"a", b"b", b"."], [2])):
        grammar = compile_grammar(Constraint("regex", "a(bb)?"), Vocabulary(ids, stop_ids))
        for budget in (2, 3):
            place = BudgetGrammar(grammar, budget, frozenset({2}))
            assert place.commit([0, 2])
            assert place.tight_places == (() if budget == 3 else (1,))
            certificate = place.certificate()
            assert (certificate.tokens_used, certificate.tight_steps) == (2, int(budget == 2))
            place.reset()
            assert place.tight_places == ()


def test_faults_fail_their_request_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault where tokens are followed is told as a token that isn't allowed; one in the completion leaves an end."""
    grammar = compile_grammar(OBJECT.constraint, VOCABULARY)
    place = BudgetGrammar(grammar, 60, frozenset(VOCABULARY.stop_ids))

    def broken(*anything: object) -> None:
        raise RuntimeError("out of order")

    for method in ("accept", "fill", "completion"):
        monkeypatch.setattr(f"grammar_cache.hosts.cursor.Cursor.{method}", broken)
    assert not place.commit([123])
    assert place.validate_tokens([123]) == []
    rows = Rows(1, -(-VOCABULARY.size // 32))
    place.begin_step([123])
    place.fill_bitmask(rows, 0)
    place.fill_bitmask(rows, 0)
    place.end_step()
    assert set(np.flatnonzero(rows.allowed(0, VOCABULARY.size)).tolist()) == set(VOCABULARY.stop_ids)


@pytest.mark.parametrize("more", [None, 0, 2, 60])
def test_tight_places_are_those_where_the_budget_narrows_the_mask(more: int | None) -> None:
    """A place is tight iff its mask isn't the one without a budget; drafts that were taken back are none."""
    grammar = compile_grammar(OBJECT.constraint, VOCABULARY)
    budget = 1 << 28 if more is None else grammar.minimum.tokens + more
    model = HOSTILE["by chance"](VOCABULARY)
    place = BudgetGrammar(grammar, budget, frozenset(VOCABULARY.stop_ids))
    configuration, output, expected = grammar.start, list[int](), list[int]()
    while len(output) < min(budget, 80) and not set(VOCABULARY.stop_ids) & set(output):
        within, free = (grammar.mask(configuration, left) for left in (budget - len(output), None))
        expected += [] if np.array_equal(within, free) else [len(output)]
        scores = np.nan_to_num(model(output), nan=-1e9, posinf=1e9, neginf=-1e9)
        output.append(int(np.where(within, scores, -np.inf).argmax()))
        place.validate_tokens([output[-1], 123, 125])
        assert place.commit(output[-1:])
        if output[-1] not in VOCABULARY.stop_ids:
            configuration = grammar.take(configuration, output[-1])
    assert place.tight_places == tuple(expected)
    assert bool(expected) == (more in (0, 2))


def test_ends_that_the_engine_does_not_know_are_forbidden() -> None:
    """The second end token of the vocabulary doesn't end a request that knows the first one alone."""
    grammar = compile_grammar(Constraint("regex", "a*"), VOCABULARY)
    found = generated(None, 0, grammar, 5, HOSTILE["always the end"](VOCABULARY))
    assert found == [VOCABULARY.stop_ids[0]]
    assert len(VOCABULARY.stop_ids) == 2
    assert Rows(1, 3).allowed(0, 96).all() and np.int32(-1) == Rows(1, 1).words[0, 0]
