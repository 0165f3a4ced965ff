"""Grammars by name: registered once, known to all who share a store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from grammar_cache import Constraint, Limits
from grammar_cache.store.database import Database
from grammar_cache.store.seals import Seals
from server.app import create_app
from server.backends.loop import EngineLoop
from server.cli import main, parse
from server.commands.serve import configuration, settings_of
from server.grammars import named as module
from server.grammars.named import REMEMBERED_SECONDS, NamedGrammars
from server.grammars.opening import opened_store
from server.protocol.errors import ApiError
from server.protocol.grammars import GrammarRequest
from server.settings import Settings
from tests.grammar_cache.store.backends.redis_server import free_port
from tests.grammar_cache.store.databases import PATIENT
from tests.grammar_cache.store.fakes import Clock, Gate, MemoryStore, breaking
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import seeded
from tests.server.grammars.test_sharing import SECRET, redis, settings, shared, text_of
from tests.server.running import SCHEMA, VOCABULARY, Running, error_of, eventually, schema_format, serving

__all__ = ["redis", "settings"]

T = TypeVar("T")
ANSWER = {"name": "answer", "response_format": {"type": "regex", "regex": "(yes|no){2}"}}
A, B = Constraint("regex", "a+"), Constraint("regex", "b+")


def register(server: Running, **fields: Any) -> httpx.Response:
    return server.client.post("/v1/grammars", json=fields)


def listing(server: Running) -> dict[str, Any]:
    found: dict[str, Any] = server.client.get("/v1/grammars").json()
    return found


def test_a_name_is_known_to_all(settings: Settings) -> None:
    """Registered at one server and used at another; replaced, and taken away."""
    with serving(settings=settings) as first, serving(settings=settings) as second:
        told = register(first, **ANSWER).json()
        assert told["shared"] is True
        assert told["cache"] == "miss"
        assert told["size"]["states"] > 0
        answer = second.chat(grammar={"name": "answer"}, max_tokens=20)
        assert answer.json()["swyb"]["grammar_id"] == told["grammar_id"]
        assert text_of(answer) in ("yesyes", "yesno", "noyes", "nono")
        assert {"name": "answer", "shipped": False} in listing(second)["named"]
        assert second.client.delete("/v1/grammars/answer").json() == {
            "name": "answer",
            "object": "grammar",
            "deleted": True,
        }
        assert error_of(second.chat(grammar={"name": "answer"}))["code"] == "grammar_not_found"
        assert {"name": "answer", "shipped": False} not in listing(second)["named"]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"grammar": 'start ::= "a" | "b"\nx ::= "the"', "swyb": {"start": "x"}}, "the"),
        ({"grammar": {"name": "iso_date"}}, None),
        ({"json_schema": {"const": [1]}, "swyb": {"whitespace": "compact"}}, "[1]"),
        ({"response_format": schema_format({"const": "x", "uniqueItems": True}), "swyb": {"lenient": True}}, '"x"'),
        ({"response_format": {"type": "choice", "choice": ["é"]}}, "é"),
    ],
)
def test_any_constraint_can_have_a_name(running: Running, fields: dict[str, Any], text: str | None) -> None:
    """A constraint is named with its options; a request by name gets exactly that language, and the same id as by the
    constraint itself.
    """
    told = register(running, name="any", **fields).json()
    assert told["shared"] is False
    for shape in ({"grammar": {"name": "any"}}, {"response_format": {"type": "grammar", "grammar": {"name": "any"}}}):
        answer = running.chat(**shape, max_tokens=100)
        assert answer.json()["swyb"]["grammar_id"] == told["grammar_id"]
        assert text is None or text_of(answer) == text
    assert running.chat(**fields, max_tokens=100).json()["swyb"]["grammar_id"] == told["grammar_id"]


@pytest.mark.parametrize(
    ("fields", "status", "code", "param"),
    [
        ({"name": "sql", "grammar": 'root ::= "a"'}, 400, "invalid_value", "name"),
        ({"name": "a b", "grammar": 'root ::= "a"'}, 400, "invalid_value", "name"),
        ({"name": "a\n", "grammar": 'root ::= "a"'}, 400, "invalid_value", "name"),
        ({"name": "x" * 101, "grammar": 'root ::= "a"'}, 400, "invalid_value", "name"),
        ({"grammar": 'root ::= "a"'}, 400, "missing_parameter", "name"),
        ({"name": "x"}, 400, "missing_parameter", "grammar"),
        ({"name": "x", "response_format": {"type": "text"}}, 400, "missing_parameter", "grammar"),
        ({"name": "x", "grammar": "root ::= ("}, 400, "invalid_grammar", "grammar"),
        ({"name": "x", "grammar": {"name": "nobody's"}}, 404, "grammar_not_found", "grammar.name"),
        ({"name": "x", "grammar": 'root ::= "a"', "json_schema": {}}, 400, "conflicting_parameters", "json_schema"),
        ({"name": "x", "grammar": 'root ::= "a"', "swyb": {"beam_width": 2}}, 400, "unknown_parameter", None),
    ],
)
def test_what_cannot_be_registered(
    running: Running, fields: dict[str, Any], status: int, code: str, param: str | None
) -> None:
    """Is refused, and has no name afterwards."""
    response = register(running, **fields)
    error = error_of(response)
    assert (response.status_code, error["code"]) == (status, code)
    assert param is None or error["param"] == param
    assert {"name": "x", "shipped": False} not in listing(running)["named"]


def test_names_that_are_not_there(running: Running) -> None:
    """Whoever asks is told which ones are."""
    response = running.chat(response_format={"type": "grammar", "grammar": {"name": "other"}})
    error = error_of(response)
    assert (response.status_code, error["code"], error["param"]) == (
        404,
        "grammar_not_found",
        "response_format.grammar.name",
    )
    assert "sql" in error["message"]
    assert running.client.delete("/v1/grammars/other").status_code == 404
    assert error_of(running.client.delete("/v1/grammars/sql"))["code"] == "invalid_value"


def test_a_registered_grammar_has_its_own_options(running: Running) -> None:
    register(running, name="options", json_schema=SCHEMA)
    error = error_of(running.chat(grammar={"name": "options"}, swyb={"whitespace": "compact"}))
    assert (error["code"], error["param"]) == ("conflicting_parameters", "swyb.whitespace")


def test_the_list_tells_what_is_kept(settings: Settings) -> None:
    """Sizes, origin and use of each grammar, and the state of the store."""
    with serving(settings=settings) as first:
        grammar_id = first.chat(grammar="root ::= [a-c]{7}").json()["swyb"]["grammar_id"]
    with serving(settings=settings) as second:
        second.chat(grammar="root ::= [a-c]{7}")
        found = listing(second)
        [grammar] = found["data"]
        assert (grammar["grammar_id"], grammar["source"], grammar["min_tokens"]) == (grammar_id, "shared", 7)
        assert grammar["size"]["states"] > 0
        assert grammar["store"]["artefact_bytes"] > 100
        assert grammar["store"]["origin"]
        assert found["compiled"] == 0
        assert (found["store"]["reading"], found["store"]["writing"]) == ("on", "on")
        assert found["store"]["counters"]["hits"] == 1
        assert {"name": "sql", "shipped": True} in found["named"]


def test_without_a_store_the_list_says_so(running: Running) -> None:
    assert listing(running)["store"] is None


class World:
    """Named grammars over a store in memory, at times of the test's choice."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self.store = store
        self.clock = clock
        self.database = Database(store, Seals(SECRET.encode()), Limits(), "tests", timing=PATIENT)
        self.named = NamedGrammars(self.database.catalogue(20.0), clock)

    def later(self) -> None:
        self.clock.sleep(REMEMBERED_SECONDS)

    def find(self, name: str = "x") -> Constraint:
        return asyncio.run(self.named.find(name, "grammar.name"))


@pytest.fixture
def worlds() -> tuple[World, World]:
    """Two processes with one store."""
    store, clock = MemoryStore(), Clock()
    return World(store, clock), World(store, clock)


def refusal(asked: Coroutine[Any, Any, T]) -> str:
    with pytest.raises(ApiError) as caught:
        asyncio.run(asked)
    return caught.value.code.value


def test_a_change_is_met_within_seconds(worlds: tuple[World, World]) -> None:
    """A remembered name counts until its change is met, some seconds later."""
    one, other = worlds
    assert asyncio.run(one.named.register("x", A))
    assert other.find() == A
    assert asyncio.run(one.named.register("x", B))
    assert (one.find(), other.find()) == (B, A)
    other.later()
    assert other.find() == B
    asyncio.run(one.named.forget("x"))
    assert refusal(one.named.find("x", "name")) == "grammar_not_found"
    assert other.find() == B
    other.later()
    assert refusal(other.named.find("x", "name")) == "grammar_not_found"


def test_while_the_store_is_away_what_is_known_stays(worlds: tuple[World, World]) -> None:
    """A name that isn't known is to be asked for again, and what is registered meanwhile is known here alone."""
    one, other = worlds
    asyncio.run(one.named.register("x", A))
    one.store.before = breaking
    one.later()
    assert one.find() == A
    assert refusal(other.named.find("x", "name")) == "store_unavailable"
    assert refusal(one.named.forget("x")) == "store_unavailable"
    assert not asyncio.run(one.named.register("y", B))
    assert asyncio.run(one.named.registered()) == ["x", "y"]
    one.store.before = lambda: None
    one.later()
    other.later()
    one.clock.sleep(60)
    assert one.find("y") == B


def test_a_name_given_anew_while_the_store_is_away_keeps_its_new_meaning(worlds: tuple[World, World]) -> None:
    """Here, until the server ends or the name is given or taken away once more; others go on with the old one."""
    one, other = worlds
    asyncio.run(one.named.register("x", A))
    one.store.before = breaking
    assert not asyncio.run(one.named.register("x", B))
    one.store.before = lambda: None
    one.later()
    assert (one.find(), other.find()) == (B, A)
    assert asyncio.run(one.named.register("x", B))
    other.later()
    assert other.find() == B
    asyncio.run(one.named.forget("x"))
    assert refusal(one.named.find("x", "name")) == "grammar_not_found"


def test_a_name_given_anew_while_it_is_looked_up_keeps_its_new_meaning(worlds: tuple[World, World]) -> None:
    """The store answers with the old one, and wasn't told of the new one."""
    one, _ = worlds
    asyncio.run(one.named.register("x", A))
    one.later()

    async def meanwhile() -> list[Constraint]:
        gate = one.store.before = Gate()
        finding = asyncio.create_task(one.named.find("x", "grammar.name"))
        await asyncio.to_thread(gate.reached.wait, 60)
        one.store.before = breaking
        assert not await one.named.register("x", B)
        gate.opened.set()
        return [await finding, await one.named.find("x", "grammar.name")]

    assert asyncio.run(meanwhile()) == [B, B]


def test_values_of_others_are_no_definitions(worlds: tuple[World, World]) -> None:
    """Sealed by another secret, or put in another place."""
    one, other = worlds
    for name, constraint in (("x", A), ("y", B)):
        asyncio.run(one.named.register(name, constraint))
    places = sorted(one.store.artefacts)
    values = [one.store.artefacts[place] for place in places]
    one.store.artefacts.update(zip(places, reversed(values), strict=True))
    for name in "xy":
        assert refusal(other.named.find(name, "name")) == "grammar_not_found"


def test_without_a_store_names_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that somebody relies on never goes: more names are refused."""
    monkeypatch.setattr(module, "MOST_NAMES", 2)
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    named = NamedGrammars(None)
    assert not asyncio.run(named.register("x", A))
    asyncio.run(named.register("y", B))
    assert refusal(named.register("z", A)) == "invalid_value"
    assert refusal(named.register("x", Constraint("regex", "a" * 9))) == "invalid_value"
    asyncio.run(named.register("x", Constraint("regex", "a" * 8)))
    asyncio.run(named.forget("y"))
    assert asyncio.run(named.registered()) == ["x"]
    assert asyncio.run(named.find("x", "name")).text == "a" * 8


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


@pytest.fixture
def command(settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Runs `swyb grammars` on that store: what it prints as JSON, or else its exit status."""
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")

    def run(*arguments: str) -> Any:
        status = main(["grammars", *arguments, "--store", settings.store or "", "--store-secret-file", str(secret)])
        printed = capsys.readouterr().out
        return json.loads(printed) if printed else status

    return run


def test_the_command_line_shows_and_removes(settings: Settings, command: Callable[..., Any]) -> None:
    """Names and grammars, whoever put them there."""
    database = opened_store(settings)
    assert database is not None
    database.catalogue(20.0).infos()  # a file is begun
    database.close(20.0)
    assert command("list", "--json") == {"named": [], "grammars": []}
    with serving(settings=settings) as server:
        grammar_id = register(server, **ANSWER).json()["grammar_id"]
        eventually(lambda: command("list", "--json")["grammars"])
    listed = command("list", "--json")
    assert listed["named"] == ["answer"]
    [row] = listed["grammars"]
    assert command("show", grammar_id) == command("show", row["place"]) == row
    assert row["artefact_bytes"] > 100
    assert row["created"].startswith("20")
    assert command("show", "answer")["text"] == "(yes|no){2}"
    assert (command("rm", "answer"), command("rm", "answer"), command("show", "answer")) == (0, 1, 1)
    assert command("rm", grammar_id) == 0
    assert command("list", "--json") == {"named": [], "grammars": []}


def test_the_command_line_needs_a_store_that_answers(
    command: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["grammars", "list", "--store", "none"]) == 1
    assert "no store" in capsys.readouterr().err
    assert main(["grammars", "list", "--store", f"redis://127.0.0.1:{free_port()}"]) == 1
    assert "secret" in capsys.readouterr().err


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


def test_the_store_is_told_by_options_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option wins; nothing said, it is a file in the cache folder, if that can be written."""
    secret = tmp_path / "secret"
    secret.write_text("from a file\n")
    monkeypatch.setenv("SWYB_CACHE", str(tmp_path / "a folder"))
    monkeypatch.delenv("SWYB_STORE")

    def of(*arguments: str) -> tuple[str | None, str | None, str]:
        found = settings_of(configuration(parse(["serve", *arguments])), "transformers")
        return found.store, found.store_secret, found.store_tenant

    default = f"sqlite://{tmp_path}/a%20folder/store.sqlite3"
    assert of() == (default, None, "")
    assert of("--store", "none") == (None, None, "")
    for name, value in (("SWYB_STORE", "redis://host"), ("SWYB_STORE_SECRET", "s"), ("SWYB_STORE_TENANT", "t")):
        monkeypatch.setenv(name, value)
    assert of() == ("redis://host", "s", "t")
    monkeypatch.setenv("SWYB_STORE_SECRET_FILE", str(secret))
    assert of("--store", default, "--store-tenant", "u") == (default, "from a file", "u")
    (tmp_path / "file").touch()
    monkeypatch.setenv("SWYB_CACHE", str(tmp_path / "file" / "folder"))
    monkeypatch.delenv("SWYB_STORE")
    assert of()[0] is None
