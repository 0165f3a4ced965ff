"""Grammars that are compiled before the first request."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from server.app import create_app
from server.backends.loop import EngineLoop
from server.cli import parse
from server.commands.serve import configuration, settings_of
from server.protocol.errors import ApiError
from server.protocol.grammars import GrammarRequest
from server.settings import Settings
from tests.grammar_cache.store.backends.redis_server import free_port
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import seeded
from tests.server.grammars.test_named import ANSWER, register
from tests.server.grammars.test_sharing import redis, settings, shared
from tests.server.running import VOCABULARY, serving

__all__ = ["redis", "settings"]


def test_warm_grammars_are_there_before_the_first_request(settings: Settings) -> None:
    """Definitions get their names, and names of others are looked up."""
    with serving(settings=settings) as first:
        register(first, **ANSWER)
    listed = GrammarRequest(name="listed", grammar='root ::= "a"')
    with serving(settings=replace(settings, warm=("answer", "iso_date", listed))) as second:
        assert second.service.grammars.kept == 3
        assert second.chat(grammar={"name": "listed"}).json()["swyb"]["cache"] == "hit"
        assert second.chat(**{k: v for k, v in ANSWER.items() if k != "name"}).json()["swyb"]["cache"] == "hit"


@pytest.mark.parametrize("warm", ["nobody's", GrammarRequest(name="x", grammar="root ::= (")])
def test_a_server_does_not_start_with_a_list_that_is_wrong(warm: GrammarRequest | str) -> None:
    """The operator is told of a wrong list, and not the first client."""
    app = create_app(Settings(warm=(warm,)), EngineLoop(ScriptedEngine(VOCABULARY, seeded(VOCABULARY.size, seed=1))))

    async def start() -> None:
        async with app.router.lifespan_context(app):
            pytest.fail("it has started")

    with pytest.raises(ApiError):
        asyncio.run(start())
    assert app.state.service.grammars.kept == 0


def test_a_name_that_cannot_be_looked_up_does_not_keep_a_server_from_starting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The store is away: requests are answered all the same."""
    away = shared(f"redis://127.0.0.1:{free_port()}")
    with serving(settings=replace(away, warm=("answer",))) as server:
        assert server.chat(grammar="root ::= [a-c]{7}").status_code == 200
    assert "'answer' can't be looked up" in caplog.text


def test_lists_to_warm_are_read(tmp_path: Path) -> None:
    """Lists to warm are read before anything is loaded; what is wrong with one is told with its name."""
    path = tmp_path / "warm.json"
    path.write_text(json.dumps([ANSWER, {"name": "b", "grammar": 'root ::= "b"'}]))
    found = settings_of(
        configuration(parse(["serve", "--store", "none", "--warm", "sql", str(path)])), "transformers"
    ).warm
    assert [wanted if isinstance(wanted, str) else wanted.name for wanted in found] == ["sql", "answer", "b"]
    path.write_text(json.dumps([{"name": "b", "gramar": ""}]))
    with pytest.raises(ValueError, match=r"warm\.json: gramar"):
        settings_of(configuration(parse(["serve", "--store", "none", "--warm", str(path)])), "transformers")
