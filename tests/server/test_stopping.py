"""Stops beside special tokens: a text may be cut where a token stands between its characters."""

from __future__ import annotations

import pytest

from grammar_cache import Constraint, Vocabulary, compile_grammar
from grammar_cache.network.containment import FUEL
from server import stopping
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


def test_many_stops_share_their_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four may take their whole time, more of them no longer together."""
    spent: list[int] = []
    monkeypatch.setattr(stopping, "text_containing", lambda network, part, fuel: spent.append(fuel))
    compiled = compile_grammar(Constraint("gbnf", 'root ::= "a"'), VOCABULARY)
    for count in (1, 4, 64):
        spent.clear()
        check_stops(SamplingFields.model_validate({"stop": [f"b{number}" for number in range(count)]}), compiled)
        assert len(spent) == count
        assert max(spent) <= FUEL
        assert sum(spent) <= FUEL * min(4, count)
