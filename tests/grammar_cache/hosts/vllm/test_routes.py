"""Route of the plug-in, by itself: what it refuses, and that nothing else comes of a body."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from grammar_cache.hosts.vllm.compiler import Compiler
from grammar_cache.hosts.vllm.settings import PluginSettings
from grammar_cache.warm_up import letters
from tests.grammar_cache.hosts.vllm.test_frontend import hooks

__all__ = ["hooks"]


@pytest.fixture
def client(hooks: Any, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """A client of an application with nothing but the route."""
    from grammar_cache.hosts.vllm import routes

    gate = hooks.Gate(PluginSettings(False, 0.25))
    gate.compiler = Compiler(letters(), PluginSettings(False, 0.25))
    monkeypatch.setattr(routes, "gate_of", lambda: gate)
    app = FastAPI()
    routes.CertifyRoute().attach_router(app)
    return TestClient(app)


@pytest.mark.parametrize(
    "outputs",
    [
        {"regex": 5},
        {"choice": 5},
        {"choice": [1, 2]},
        {"grammar": {"a": 1}},
        {"json": 5},
        {"structural_tag": 7},
        {"json_object": "perhaps"},
        {"regex": "a", "choice": ["b"]},
        {"regex": "a", "_backend": "xgrammar"},
        {"regex": "a", "other": None},
        {"whitespace_pattern": ""},
        {},
        [],
        None,
    ],
)
def test_what_is_no_constraint_is_refused(client: TestClient, outputs: object) -> None:
    """A 400 with a code, as vLLM's own of such a request."""
    answer = client.post("/v1/certify", json={"structured_outputs": outputs})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_value"


def test_minima_and_refusals_of_the_grammar(client: TestClient) -> None:
    """The fewest tokens of a constraint, or why there is none."""
    answer = client.post("/v1/certify", json={"structured_outputs": {"regex": "aq{3}"}})
    assert (answer.status_code, answer.json()) == (200, {"min_tokens": 2, "exact": True})
    answer = client.post("/v1/certify", json={"structured_outputs": {"regex": "("}})
    assert answer.json()["error"]["code"] == "invalid_grammar"
    assert client.post("/v1/certify", content=b"{").json()["error"]["code"] == "invalid_json"
