"""Keys of a running server: what each may use, and that none gets into another's way."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.settings import Settings
from tests.server.engines.scripts import uniform
from tests.server.running import SCHEMA, VOCABULARY, Running, error_of, eventually, request, schema_format, serving

TREE = 'root ::= "<" root* ">"'


def value_of(name: str) -> str:
    return f"sk-{name}-0123456789"


def header(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {value_of(name)}"}


def key_file(folder: Path, **keys: dict[str, Any]) -> Path:
    path = folder / "keys.json"
    entries = [{"name": name, "key": value_of(name), **limits} for name, limits in keys.items()]
    path.write_text(json.dumps({"keys": entries}))
    return path


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server whose keys each have another limit."""
    folder = tmp_path_factory.mktemp("keyed")
    keys = key_file(
        folder,
        free={},
        minute={"requests_per_minute": 60},
        tokens={"tokens_per_minute": 600},
        prompts={"tokens_per_minute": 600},
        two={"concurrency": 2},
        small={"constraint_bytes": 30},
        named={"only_grammars": ["tree"]},
        names={"named_grammars": 1, "tenant": "names"},
        once={"named_grammars": 1, "tenant": "once"},
        left={"tenant": "left"},
        right={"tenant": "right"},
    )
    with serving(settings=Settings(keys=keys, store=f"sqlite://{folder}/store.sqlite3")) as server:
        yield server


def chat(server: Running, key: str, **fields: Any) -> httpx.Response:
    return server.client.post("/v1/chat/completions", json=request(**fields), headers=header(key))


def test_a_key_opens_and_others_do_not(keyed: Running) -> None:
    """Keys of the file open all routes; what isn't one opens none."""
    assert chat(keyed, "free", max_tokens=2).status_code == 200
    anthropic = keyed.client.get("/v1/models", headers={"x-api-key": value_of("free")})
    assert anthropic.status_code == 200
    assert error_of(chat(keyed, "nobody", max_tokens=2))["code"] == "invalid_api_key"
    assert keyed.client.get("/v1/models").status_code == 401


def test_requests_a_minute_and_the_time_that_is_told(keyed: Running) -> None:
    """A minute's requests are taken at once, then there is a 429; after the time that it tells one is taken."""
    answers = [chat(keyed, "minute", max_tokens=1) for _ in range(75)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert 60 <= len(answers) - len(refused) < 75
    error = error_of(refused[-1])
    assert (error["code"], error["limit"]) == ("rate_limit_exceeded", "requests_per_minute")
    time.sleep(int(refused[-1].headers["retry-after"]))
    assert chat(keyed, "minute", max_tokens=1).status_code == 200


def test_tokens_a_minute_are_charged_by_what_is_used(keyed: Running) -> None:
    """A budget is held while its request runs and given back at the end; one beyond a whole minute is a 400."""
    shape = {"response_format": {"type": "regex", "regex": "[ab]{4}"}}
    assert [chat(keyed, "tokens", max_tokens=450, **shape).status_code for _ in range(4)] == [200] * 4
    error = error_of(chat(keyed, "tokens", max_tokens=300, n=3, **shape))
    assert (error["code"], error["limit"], error["param"]) == ("items_exceeded", "tokens_per_minute", "max_tokens")
    while (refused := chat(keyed, "tokens", max_tokens=200, min_tokens=150)).status_code == 200:
        pass
    assert error_of(refused)["limit"] == "tokens_per_minute"
    assert int(refused.headers["retry-after"]) >= 1


def test_prompts_of_what_is_refused_at_the_last_moment_cost_nothing(keyed: Running) -> None:
    """A number that no answer can repeat is found when all else is ready."""
    body = json.dumps({"input": "x" * 400, "max_output_tokens": 2, "metadata": {"a": 0}}).replace("0}", "1e999}")
    headers = {**header("prompts"), "Content-Type": "application/json"}
    refused = [keyed.client.post("/v1/responses", content=body, headers=headers) for _ in range(4)]
    assert [(one.status_code, error_of(one)["param"]) for one in refused] == [(400, "metadata")] * 4


def test_who_goes_away_before_the_end_pays_for_what_was_told(tmp_path: Path) -> None:
    """Streams that are read, and left before they end, use up the tokens of a minute too."""
    keys = key_file(tmp_path, tokens={"tokens_per_minute": 450})
    plain, statuses = uniform(VOCABULARY.size), []

    def slow(history: tuple[int, ...]) -> Any:
        time.sleep(0.002)
        return plain(history)

    with serving(slow, settings=Settings(keys=keys)) as server:
        body = request(stream=True, max_tokens=400, response_format={"type": "regex", "regex": "[ab]{400}"})
        for _ in range(9):
            with (
                httpx.Client(base_url=server.base, timeout=60, headers=header("tokens")) as client,
                client.stream("POST", "/v1/chat/completions", json=body) as streamed,
            ):
                statuses.append(streamed.status_code)
                told = 0
                for line in streamed.iter_lines():
                    told += '"content":"' in line
                    if told >= 200:
                        break
            eventually(lambda: server.service.present == 0)
        metrics = server.client.get("/metrics", headers=header("tokens")).text
    assert 429 in statuses
    [counted] = re.findall(r'swyb:key_tokens_total\{.*kind="generation".*\} (\S+)', metrics)
    assert float(counted) >= 60 * statuses.count(200)  # a token a letter, which bytes don't tell


def test_names_at_once_are_no_more_than_a_key_may_have(keyed: Running) -> None:
    """Names are counted and registered by one after the other."""

    def register(number: int) -> int:
        body = {"name": f"at-once-{number}", "grammar": TREE}
        return keyed.client.post("/v1/grammars", json=body, headers=header("once")).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(register, range(8)))
    assert sorted(statuses) == [200, *[403] * 7]


def test_answers_at_a_time(keyed: Running) -> None:
    """A request for more answers than a key may have at a time is no matter of time."""
    assert chat(keyed, "two", max_tokens=2, n=2).status_code == 200
    error = error_of(chat(keyed, "two", max_tokens=2, n=3))
    assert (error["code"], error["limit"], error["param"]) == ("items_exceeded", "concurrency", "n")


def test_constraints_that_a_key_may_send(keyed: Running) -> None:
    """A long one is refused by its field; a name is short, whatever it stands for."""
    assert chat(keyed, "small", grammar=TREE, max_tokens=8).status_code == 200
    shape = {"response_format": schema_format(SCHEMA)}
    error = error_of(chat(keyed, "small", max_tokens=60, **shape))
    assert (error["code"], error["limit"], error["param"]) == (
        "text_bytes_exceeded",
        "constraint_bytes",
        "response_format.json_schema.schema",
    )
    keyed.client.post("/v1/grammars", json={"name": "long", **shape}, headers=header("free"))
    named = {"grammar": {"name": "long"}}
    assert chat(keyed, "small", max_tokens=60, **named).status_code == 200


def test_grammars_that_a_key_may_name(keyed: Running) -> None:
    """A key for some grammars constrains by these names alone, and may write text without a constraint."""
    keyed.client.post("/v1/grammars", json={"name": "tree", "grammar": TREE}, headers=header("free"))
    tree = {"grammar": {"name": "tree"}}
    assert chat(keyed, "named", max_tokens=8, **tree).status_code == 200
    assert chat(keyed, "named", max_tokens=2).status_code == 200
    for fields in ({"grammar": TREE}, {"grammar": {"name": "iso_date"}}):
        refused = chat(keyed, "named", max_tokens=60, **fields)
        assert (refused.status_code, error_of(refused)["code"]) == (403, "not_permitted")


def test_names_that_a_key_may_register(keyed: Running) -> None:
    """A name more than its limit is refused; the one that is there may be given another meaning."""

    def register(name: str, text: str = TREE) -> httpx.Response:
        return keyed.client.post("/v1/grammars", json={"name": name, "grammar": text}, headers=header("names"))

    assert register("one").status_code == 200
    assert (register("two").status_code, error_of(register("two"))["limit"]) == (403, "named_grammars")
    assert register("one", 'root ::= "a"').status_code == 200
    assert keyed.client.delete("/v1/grammars/one", headers=header("names")).status_code == 200
    assert register("two").status_code == 200


def test_tenants_know_nothing_of_each_other(keyed: Running) -> None:
    """Neither names nor grammars that were compiled are told across tenants; within one, they are."""
    registered = keyed.client.post("/v1/grammars", json={"name": "mine", "grammar": TREE}, headers=header("left"))
    assert registered.status_code == 200
    mine = {"grammar": {"name": "mine"}}
    assert chat(keyed, "left", max_tokens=8, **mine).json()["swyb"]["cache"] == "hit"
    assert error_of(chat(keyed, "right", max_tokens=8, **mine))["code"] == "grammar_not_found"
    assert chat(keyed, "right", max_tokens=8, grammar=TREE).json()["swyb"]["cache"] == "miss"
    assert chat(keyed, "right", max_tokens=8, grammar=TREE).json()["swyb"]["cache"] == "hit"
    listed = keyed.client.get("/v1/grammars", headers=header("right")).json()
    assert [entry["name"] for entry in listed["named"] if not entry["shipped"]] == []
    assert len(listed["data"]) == 1


def test_many_answers_hold_up_nobody_else(tmp_path: Path) -> None:
    """Two requests of 128 answers don't fill the server, and another key's single answer is out long before theirs."""
    plain = uniform(VOCABULARY.size)

    def slow(history: tuple[int, ...]) -> Any:
        time.sleep(0.0005)
        return plain(history)

    ended: list[str] = []
    keys = key_file(tmp_path, flood={}, other={})
    with serving(slow, Settings(keys=keys, running=8, waiting=300)) as server:

        def ask(key: str, answers: int) -> None:
            assert chat(server, key, max_tokens=12, n=answers, seed=1, min_tokens=12).status_code == 200
            ended.append(key)

        threads = [threading.Thread(target=ask, args=("flood", 128))]
        threads[0].start()
        eventually(lambda: server.service.turns.waiting > 64)
        refused = chat(server, "flood", max_tokens=12, n=128)
        assert (refused.status_code, error_of(refused)["code"]) == (429, "overloaded")
        assert int(refused.headers["retry-after"]) >= 1
        threads.append(threading.Thread(target=ask, args=("other", 1)))
        threads[1].start()
        threads[1].join()
        left = server.service.turns.waiting
        threads[0].join()
        assert ended == ["other", "flood"]
        assert left > 0
        assert server.service.present == 0
