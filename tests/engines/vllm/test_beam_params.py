"""Requests in vLLM's words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grammar_cache import Constraint, compile_grammar
from server.backend import Work
from server.decoding.forced_text import ForcedText
from server.decoding.parameters import Jump, Parameters
from server.engines.vllm.requests import BEAM, check, request_of, row_of
from tests.decoding.grammars import DYCK_VOCABULARY
from tests.engines.vllm.conftest import MakeEngine
from tests.engines.vllm.fakes import no_split

GRAMMAR = compile_grammar(Constraint("regex", r"\(\)[()x]{3}"), DYCK_VOCABULARY)
PARAMETERS = Parameters(9, beam_width=3, answers=2, seed=5, stops=(b"x",))


@pytest.mark.parametrize("jump", [False, True, "text"])
@pytest.mark.parametrize("over_text", [False, True])
def test_the_workers_jump_as_the_front_end_does(make_engine: MakeEngine, jump: Jump, over_text: bool) -> None:
    """Over text where the language here does; all else is told as it is."""
    from server.engines.vllm.sampling import beam_params

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
