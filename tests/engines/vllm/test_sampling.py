"""How a request is put to vLLM."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from server.backend import Work
from server.decoding.parameters import Parameters
from tests.server.running import VOCABULARY

pytestmark = [
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed"),
    pytest.mark.filterwarnings("default"),  # its own are not ours to mend
]


@pytest.mark.parametrize("pieces", [True, False])
@pytest.mark.parametrize("stops", [(), (b"end",)])
def test_tokens_are_told_one_by_one_where_somebody_looks_at_them(pieces: bool, stops: tuple[bytes, ...]) -> None:
    """To read them as they come, or to find a stop text; else all at once."""
    from vllm.sampling_params import RequestOutputKind

    from server.engines.vllm.sampling import sampling_params

    work = Work((1,), None, Parameters(budget=9, stops=stops), pieces=pieces)
    told = RequestOutputKind.DELTA if pieces or stops else RequestOutputKind.FINAL_ONLY
    assert sampling_params(work, "r", None, VOCABULARY).output_kind is told
