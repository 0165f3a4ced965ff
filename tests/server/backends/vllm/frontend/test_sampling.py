"""Requests as they are put to vLLM."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import pytest

from grammar_cache import Constraint, compile_grammar
from server.backends.backend import Work
from server.backends.vllm.wire.mask_requests import MaskRequest, mask_request_of
from server.backends.vllm.wire.requests import BEAM, check, request_of, row_of
from server.decoding.forced_text import ForcedText
from server.decoding.parameters import Jump, Parameters, Penalties
from tests.server.backends.vllm.fakes import no_split
from tests.server.decoding.grammars import DYCK_VOCABULARY
from tests.server.running import VOCABULARY

pytestmark = [
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed"),
    pytest.mark.filterwarnings("default"),  # its own are not ours to mend
]


GRAMMAR = compile_grammar(Constraint("regex", r"\(\)[()x]{3}"), DYCK_VOCABULARY)
PARAMETERS = Parameters(9, beam_width=3, answers=2, seed=5, stops=(b"x",))


@pytest.mark.parametrize("pieces", [True, False])
@pytest.mark.parametrize("stops", [(), (b"end",)])
def test_tokens_are_told_one_by_one_where_somebody_looks_at_them(pieces: bool, stops: tuple[bytes, ...]) -> None:
    """Tokens are told one by one to read them as they come, or to find a stop text; else all at once."""
    from vllm.sampling_params import RequestOutputKind

    from server.backends.vllm.frontend.sampling import sampling_params

    work = Work((1,), None, Parameters(budget=9, stops=stops), pieces=pieces)
    told = RequestOutputKind.DELTA if pieces or stops else RequestOutputKind.FINAL_ONLY
    assert sampling_params(work, None, VOCABULARY).output_kind is told


def test_all_that_draws_is_told() -> None:
    """Every parameter of drawing has vLLM's name; a greedy text has no seed, and a seed what all runners take."""
    from server.backends.vllm.frontend.sampling import MOST_SEED, sampling_params

    penalties = Penalties(0.5, -0.5, 1.2, ((3, -100.0), (4, 2.0)))
    drawn = Parameters(
        9, temperature=0.7, top_p=0.9, top_k=5, min_p=0.1, seed=(1 << 64) - 1, penalties=penalties, logprobs=2
    )
    made = sampling_params(Work((1, 2), GRAMMAR, drawn), "g", DYCK_VOCABULARY)
    assert (made.temperature, made.top_p, made.top_k, made.min_p, made.seed) == (0.7, 0.9, 5, 0.1, MOST_SEED)
    assert (made.presence_penalty, made.frequency_penalty, made.repetition_penalty) == (0.5, -0.5, 1.2)
    assert (made.logit_bias, made.logprobs, made.max_tokens) == ({3: -100.0, 4: 2.0}, 2, 9)
    assert sampling_params(Work((1,), None, replace(drawn, temperature=0.0)), None, DYCK_VOCABULARY).seed is None


@pytest.mark.parametrize("constrained", [False, True])
def test_ends_are_vllms_business_or_the_masks(constrained: bool) -> None:
    """Plain texts end by vLLM's own rules; under a grammar masks keep ends out, which may be all that is left."""
    from server.backends.vllm.frontend.sampling import sampling_params

    grammar = GRAMMAR if constrained else None
    parameters = Parameters(9, min_tokens=4, ending="freeze", stop_ids=() if constrained else (2,))
    made = sampling_params(Work((1,), grammar, parameters), "g" if constrained else None, DYCK_VOCABULARY)
    assert made.ignore_eos
    assert made.stop_token_ids == [*DYCK_VOCABULARY.stop_ids, *parameters.stop_ids]
    assert made.min_tokens == (0 if constrained else 4)
    assert mask_request_of(made) == (MaskRequest("g", shortest=True, ends_from=4) if constrained else None)
    ignoring = replace(parameters, ignore_end=True, stop_ids=(2,))
    assert sampling_params(Work((1,), None, ignoring), None, DYCK_VOCABULARY).stop_token_ids == [2]


def test_no_more_tokens_are_asked_for_than_a_thought_has_left() -> None:
    """vLLM refuses a text that has to be longer than it may be: behind a thought it only has to use up its budget."""
    from server.backends.vllm.frontend.sampling import sampling_params

    made = sampling_params(Work((1,), None, Parameters(7, min_tokens=12)), None, DYCK_VOCABULARY)
    assert (made.min_tokens, made.max_tokens) == (7, 7)


@pytest.mark.parametrize("jump", [False, True, "text"])
@pytest.mark.parametrize("over_text", [False, True])
def test_the_workers_jump_as_the_front_end_does(jump: Jump, over_text: bool) -> None:
    """Over text where the language here does; all else is told as it is."""
    from server.backends.vllm.frontend.sampling import search_params

    parameters = replace(PARAMETERS, jump_forward=jump)
    work = Work((1, 2), ForcedText(GRAMMAR, no_split) if over_text else GRAMMAR, parameters)
    made = search_params(work, "r", "g", (0, 1))
    check(made)
    told = request_of(made)
    assert told is not None
    assert (told.request, told.grammar, told.begun) == ("r", "g", (0, 1))
    assert told.parameters == replace(parameters, jump_forward="text" if over_text and jump else bool(jump))
    assert row_of(made) == "r" == (made.extra_args or {})[BEAM]
    assert (made.max_tokens, made.temperature, made.ignore_eos, made.stop_token_ids) == (9, 0.0, True, [])
