"""Costs of the budget, over HTTP: told with every answer, and refused if so wished."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.running import SCHEMA, STOP, Running, error_of, schema_format

FORMAT = {"response_format": schema_format(SCHEMA)}
REFUSE = {"on_budget": "refuse"}
END = {"logit_bias": {str(STOP): 100, str(ord('"')): 8}}


@pytest.mark.parametrize("beams", [1, 2])
def test_false_promises_the_answer_of_the_whole_window(running: Running, beams: int) -> None:
    """Whatever the budget, false means the text that the window's budget gives, and true comes with what it ended."""
    told = set()
    for seed in range(6):
        fields = {**FORMAT, "seed": seed, "temperature": 1, "swyb": {"beam_width": beams, "alpha": 0}}
        fields |= END
        free = running.chat(**fields, max_tokens=400).json()
        for budget in (12, 20, 40, 80, 200):
            answer = running.chat(**fields, max_tokens=budget).json()
            certificate = answer["swyb"]
            told.add(certificate["budget_affected"])
            if not certificate["budget_affected"]:
                assert answer["choices"][0]["message"] == free["choices"][0]["message"]
                assert certificate["budget_ended"] == []
            elif beams == 1 and certificate["budget_ended"]:
                assert set(certificate["budget_ended"]) <= {"/name", "/age", ""}
                assert certificate["budget_forced_tokens"] > 0
    assert told == {True, False} or beams > 1


def test_an_answer_that_the_budget_changed_is_refused_if_so_wished(running: Running) -> None:
    """The error carries the text, which is complete, and its certificate; a stream sends nothing else."""
    fields = {**FORMAT, "max_tokens": 14, "seed": 3, "temperature": 0}
    closed = running.chat(**fields).json()
    assert closed["swyb"]["budget_affected"]
    refused = running.chat(**fields, swyb=REFUSE)
    error = error_of(refused)
    assert (refused.status_code, error["code"], error["param"]) == (400, "budget_affected", "swyb.on_budget")
    assert error["text"] == closed["choices"][0]["message"]["content"]
    assert error["swyb"]["budget_affected"] is True
    assert error["swyb"]["complete"] is True
    lines = running.chat(**fields, swyb=REFUSE, stream=True).text.split("\n\n")
    streamed = json.loads(lines[0].removeprefix("data: "))["error"]
    assert {**streamed, "request_id": error["request_id"]} == error
    assert lines[1:] == ["data: [DONE]", ""]


def test_what_the_budget_did_not_change_is_sent(running: Running) -> None:
    """An answer, and its stream, as without the wish."""
    fields: dict[str, Any] = {"response_format": {"type": "choice", "choice": ["yes", "no"]}, "seed": 3}
    plain = running.chat(**fields).json()
    assert running.chat(**fields, swyb=REFUSE).json()["choices"] == plain["choices"]
    assert plain["swyb"]["budget_ended"] is None
    text = running.chat(**fields, swyb=REFUSE, stream=True).text
    chunks = [json.loads(line.removeprefix("data: ")) for line in text.split("\n\n")[:-2]]
    content = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)
    assert content == plain["choices"][0]["message"]["content"]
    assert chunks[-1]["swyb"]["budget_affected"] is False
