"""Stops beside special tokens: a text may be cut where a token stands between its characters."""

from __future__ import annotations

import pytest

from grammar_cache import Constraint, Vocabulary, compile_grammar
from server.protocol.errors import ApiError
from server.protocol.sampling import SamplingFields
from server.stopping import check_stops

VOCABULARY = Vocabulary([b"a", b"b", None, None], [3], {2: "<x>"})


@pytest.mark.parametrize(
    ("grammar", "fields", "refused"),
    [
        ('root ::= "a" <x> "b"', {"stop": ["zz"]}, "stop"),
        ('root ::= "a" "b"', {"stop": ["zz"]}, None),
        ('root ::= "a" <x> "b"', {"stop_token_ids": [2]}, "stop_token_ids"),
        ('root ::= "a" "b"', {"stop_token_ids": [2]}, None),
    ],
)
def test_stops(grammar: str, fields: dict[str, list[object]], refused: str | None) -> None:
    """A stop text is refused where special tokens may stand inside of it, and so is a token that is a terminal."""
    compiled = compile_grammar(Constraint("gbnf", grammar), VOCABULARY)
    request = SamplingFields.model_validate(fields)
    if refused is None:
        check_stops(request, compiled)
        return
    with pytest.raises(ApiError) as refusal:
        check_stops(request, compiled)
    assert refusal.value.param == refused
