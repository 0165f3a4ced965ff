"""Requests as they are put to vLLM."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import pytest

from grammar_cache import Constraint, compile_grammar
from server.backends.backend import Work
from server.backends.vllm.wire.requests import BEAM, check, request_of, row_of
from server.decoding.forced_text import ForcedText
from server.decoding.parameters import Jump, Parameters
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
    assert sampling_params(work, "r", None, VOCABULARY).output_kind is told


@pytest.mark.parametrize("jump", [False, True, "text"])
@pytest.mark.parametrize("over_text", [False, True])
def test_the_workers_jump_as_the_front_end_does(jump: Jump, over_text: bool) -> None:
    """Over text where the language here does; all else is told as it is."""
    from server.backends.vllm.frontend.sampling import beam_params

    parameters = replace(PARAMETERS, jump_forward=jump)
    work = Work((1, 2), ForcedText(GRAMMAR, no_split) if over_text else GRAMMAR, parameters)
    made = beam_params(work, "r", "g", (0, 1))
    check(made)
    told = request_of(made)
    assert told is not None
    assert (told.request, told.grammar, told.prompt_tokens, told.begun) == ("r", "g", 2, (0, 1))
    assert told.parameters == replace(parameters, jump_forward="text" if over_text and jump else bool(jump))
    assert row_of(made) == "r" == (made.extra_args or {})[BEAM]
    assert (made.max_tokens, made.temperature, made.ignore_eos, made.stop_token_ids) == (9, 0.0, True, [])
