"""Distance-guided scoring and its variants, by their formulas, and what they do to an answer."""

from collections.abc import Sequence
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.candidates import Candidates, Place, candidates
from server.decoding.decoder import Decoder
from server.decoding.distance_scoring import NORMALISERS, PROMOTIONS
from server.decoding.logits import ArrayRow
from server.decoding.parameters import Parameters, Promotion
from tests.server.decoding.grammars import DYCK, DYCK_VOCABULARY, LETTERS, compiled
from tests.server.decoding.stepping import advance, log_softmax
from tests.strategies import examples

GRAMMAR = compiled(DYCK, DYCK_VOCABULARY)
RULES = get_args(Promotion)


def options(distances: list[int], logits: list[float], tokens_left: int, lost: Sequence[float] = ()) -> Candidates:
    """Candidates 0, 1, … of a beam at the start; `lost`: logits of what the budget keeps out."""
    count = len(logits)
    return Candidates(
        place=Place(GRAMMAR.start, tokens_left),
        tokens=np.arange(count, dtype=np.int32),
        configurations=np.zeros(count, np.int32),
        distances=np.array(distances, np.int32),
        logits=np.array(logits),
        end=None,
        lost=None,
        lost_logits=np.array(lost),
        same=True,
    )


def opened(depth: int, tokens_left: int, logits: list[float]) -> Candidates:
    """The candidates `(` and `)` behind some opening parentheses: one is 1 farther than d = depth + 1, one nearer."""
    configuration = GRAMMAR.consume_bytes(GRAMMAR.start, b"(" * depth)
    assert configuration is not None
    found = candidates(GRAMMAR, Place(configuration, tokens_left), ArrayRow(np.array(logits)), Parameters(9))
    assert dict(zip(found.tokens.tolist(), found.distances.tolist(), strict=True)) == {0: depth + 2, 1: depth}
    return found


def promoted(rule: Promotion, found: Candidates, alpha: float) -> dict[int, float]:
    """z̃ - z⁺ by token."""
    values = PROMOTIONS[rule](found, GRAMMAR, alpha)
    return dict(zip(found.tokens.tolist(), values.tolist(), strict=True))


def test_equations_14_to_16() -> None:
    """r = D / (K - 1), α = α_min + (1 - α_min) r, z̃ = (1 - α) z + α max z, then log softmax."""
    found = PROMOTIONS["viable"](options([4, 1], [1.0, -1.0], 5), GRAMMAR, 0.4)
    mixed = np.array([1.0, 0.6 * 0.75 * -1.0 + (1 - 0.6 * 0.75) * 1.0])
    assert log_softmax(found) == pytest.approx(log_softmax(mixed))


def test_at_zero_slack_all_are_alike() -> None:
    """The model's taste no longer counts where every candidate needs all that is left, as printed."""
    found = PROMOTIONS["viable"](options([3, 3], [5.0, -5.0], 4), GRAMMAR, 0.0)
    assert found.tolist() == [0.0, 0.0]


def test_closing_promotes_what_brings_the_end_nearer() -> None:
    """Behind `((`, d = 3 and K = 7: `)` has D = 2, so α = 0.25 + 0.75 / 3 = 0.5. `(` stays where it is."""
    assert promoted("closing", opened(2, 7, [2, -2, 0, 0]), 0.25) == {0: 0.0, 1: pytest.approx(-2)}
    assert promoted("closing", opened(2, 7, [-2, 2, 0, 0]), 0.25) == {0: -4.0, 1: 0.0}


def test_proposals_are_promoted_alone() -> None:
    """Behind `((` the grammar proposes `)`, as printed; `(` stays where it is."""
    found = opened(2, 7, [2, -2, 0, 0])
    assert GRAMMAR.proposals(found.place.configuration).tolist() == [1]
    assert promoted("proposals", found, 0.25) == {0: 0.0, 1: promoted("viable", found, 0.25)[1]}
    assert promoted("proposals", opened(2, 7, [-2, 2, 0, 0]), 0.25) == {0: -4.0, 1: 0.0}


def test_slack_promotes_by_what_the_text_so_far_needs() -> None:
    """Behind `((`, d = 3 and K = 6: r = 0.5, α = 0.25 + 0.75 / 2, for closing tokens only."""
    assert promoted("slack", opened(2, 6, [2, -2, 0, 0]), 0.25) == {0: 0.0, 1: pytest.approx(-4 * 0.375)}


def test_penalty_takes_off_by_distance() -> None:
    """λ = 0.75 / 0.25 = 3 logits: `(` with D = 4 of K - 1 = 6 loses 2 of them, `)` with D = 2 one."""
    assert promoted("penalty", opened(2, 7, [2, -2, 0, 0]), 0.75) == {0: pytest.approx(-2), 1: pytest.approx(-5)}


def test_none_leaves_the_model_as_it_is() -> None:
    """Scores are the model's own over the viable tokens."""
    assert promoted("none", opened(2, 7, [2, -2, 0, 0]), 0.75) == {0: 0.0, 1: -4.0}


@pytest.mark.parametrize("rule", ["closing", "proposals", "slack"])
def test_the_end_token_is_promoted_too(rule: Promotion) -> None:
    """The end token ends the text, and nothing is nearer to the end: where `a` may follow, it moves, by α_min where D =
    d = 0.
    """
    grammar = compiled(LETTERS, Vocabulary([b"a", b"b", None], [2]))
    configuration = grammar.consume(grammar.start, 0)
    assert configuration is not None
    found = candidates(grammar, Place(configuration, 9), ArrayRow(np.array([4.0, 2.0, 0.0])), Parameters(9))
    values = dict(zip(found.tokens.tolist(), PROMOTIONS[rule](found, grammar, 0.25).tolist(), strict=True))
    assert values[2] == pytest.approx(-3.0)


LOGITS = st.lists(st.floats(-1e9, 1e9, width=32), min_size=2, max_size=8).map(lambda found: sorted(found, reverse=True))


@given(st.sampled_from(RULES), LOGITS, st.data(), st.sampled_from([0.0, 0.3, 1.0]), st.integers(1, 9))
@examples(300)
def test_no_rule_lifts_a_token_above_the_best(
    rule: Promotion, logits: list[float], data: st.DataObject, alpha: float, left: int
) -> None:
    """All values are finite and at most 0, so scores only fall; all rules but the penalty leave the best on top."""
    distances = data.draw(st.lists(st.integers(0, left - 1), min_size=len(logits), max_size=len(logits)))
    found = options(distances, logits, left)
    values = PROMOTIONS[rule](found, GRAMMAR, alpha)
    assert np.isfinite(values).all()
    assert values.max() <= 0
    if rule != "penalty":
        assert values[0] == values.max() == 0
    for normaliser in NORMALISERS.values():
        best = float(log_softmax(found.logits).max())
        assert (values <= normaliser(values, found, best)).all()


def answer(parameters: Parameters, logits: list[float]) -> bytes:
    decoder = Decoder(GRAMMAR, parameters)
    while decoder.answer is None:
        advance(decoder, np.array([logits] * len(decoder.wanted.parents), np.float32))
    return decoder.answer.text


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("alpha", [0.0, 0.89])
def test_only_the_penalty_changes_a_greedy_answer(rule: Promotion, alpha: float) -> None:
    """A model that would rather open, by one logit: with λ = 8.09 it no longer does where 2·λ / (K - 1) > 1."""
    found = answer(Parameters(budget=31, alpha=alpha, promotion=rule), [1, 0, -9, 0])
    depth = 14 if rule == "penalty" and alpha > 0 else 15
    assert found[: depth + 1] == b"(" * depth + b")"


def test_softmax_over_the_vocabulary_charges_for_what_is_not_viable() -> None:
    """Promoted logits less the log-sum over all logits: where nothing moves, the model's own log-probability."""
    logits = np.array([1.0, 0.5, -1.0, 3.0])
    model = log_softmax(logits)[:2]
    promoted = np.array([0.0, -0.5])
    found = options([1, 1], [1.0, 0.5], 9, lost=[3.0])
    scored = {name: promoted - normaliser(promoted, found, float(model[0])) for name, normaliser in NORMALISERS.items()}
    assert scored["vocabulary"] == pytest.approx(model)
    assert scored["viable"] == pytest.approx(log_softmax(logits[:2]))
    assert scored["grammar"] == pytest.approx(log_softmax(logits[[0, 1, 3]])[:2])


def test_what_the_budget_forces_is_paid_for_whatever_alpha_is() -> None:
    """Two viable tokens with a hundredth of what the grammar allows: log 0.01, and their shares of each other."""
    found = options([1, 1], [0.0, 0.0], 9, lost=[float(np.log(198))])
    even = PROMOTIONS["flat"](found, GRAMMAR, 0.5)
    assert even - NORMALISERS["grammar"](even, found, 0.0) == pytest.approx(np.log([0.005, 0.005]))
    assert PROMOTIONS["flat"](options([4, 1], [1.0, -1.0], 5), GRAMMAR, 0.4).tolist() == pytest.approx([0.0, -1.2])
