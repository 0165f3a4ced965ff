"""A plain vLLM server with the plug-in, on the embedded model: answers on four interfaces, many at once."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from tests.cached import model_folder
from tests.documents import ROOT

pytestmark = pytest.mark.xdist_group("plain vLLM")

START_SECONDS = 500.0
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}
ENTRY_POINTS = """[vllm.general_plugins]
swyb_budget = grammar_cache.hosts.vllm.plugin:register
[vllm.endpoint_plugins]
swyb_budget = grammar_cache.hosts.vllm.routes:CertifyRoute
"""
OPTIONS = ["--max-model-len", "512", "--enforce-eager", "--max-num-seqs", "256", "--kv-cache-memory-bytes", "256M"]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a server that is started for these tests, in a process of its own."""
    if find_spec("vllm") is None:
        pytest.skip("vLLM is not installed here: make test-vllm does it")
    folder, model = tmp_path_factory.mktemp("plugin"), model_folder()
    entry = folder / "swyb_entry-0.dist-info"
    entry.mkdir()
    (entry / "entry_points.txt").write_text(ENTRY_POINTS)
    (entry / "METADATA").write_text("Metadata-Version: 2.1\nName: swyb-entry\nVersion: 0\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--port", str(port)]
    command += ["--served-model-name", "smol", *OPTIONS]
    variables = {"PYTHONPATH": f"{ROOT}:{folder}", "VLLM_PLUGINS": "swyb_budget", "VLLM_NO_USAGE_STATS": "1"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=os.environ | variables, stdout=log, stderr=subprocess.STDOUT)
    try:
        limits = httpx.Limits(max_connections=200)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300, limits=limits) as asking:
            _wait(asking, process, folder / "log")
            yield asking
    finally:
        process.terminate()
        process.wait(60)


def _wait(client: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            if client.get("/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(1)
    pytest.fail(f"the server didn't start: {log.read_text(errors='replace')[-3000:]}")


def ask(client: httpx.Client, outputs: dict[str, Any], tokens: int, **more: Any) -> httpx.Response:
    body = {"model": "smol", "prompt": "A person as JSON:", "max_tokens": tokens, "structured_outputs": outputs}
    return client.post("/v1/completions", json=body | {"temperature": 0} | more)


def minimum(client: httpx.Client, outputs: dict[str, Any]) -> int:
    found: int = client.post("/v1/certify", json={"structured_outputs": outputs}).json()["min_tokens"]
    return found


KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "json": ({"json": SCHEMA}, ""),
    "any object": ({"json_object": True}, ""),
    "regex": ({"regex": "(ab|cd)+e"}, "(ab|cd)+e"),
    "choice": ({"choice": ["yes indeed", "not at all"]}, "yes indeed|not at all"),
    "gbnf": ({"grammar": 'root ::= "(" root ")" | [a-z]{3}'}, r"\(*[a-z]{3}\)*"),
    "lark": ({"grammar": 'start: "x" ("," "x")*'}, "x(,x)*"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_complete_from_its_minimum_on(client: httpx.Client, kind: str) -> None:
    """Answers of the fewest tokens, and of more, are whole and end by `stop`; with one token fewer there is a 400."""
    outputs, pattern = KINDS[kind]
    least = minimum(client, outputs)
    for tokens in (least, least + 1, least + 7):
        choice = ask(client, outputs, tokens, temperature=1.0, seed=tokens).json()["choices"][0]
        assert choice["finish_reason"] == "stop"
        if pattern:
            assert re.fullmatch(pattern, choice["text"])
        else:
            Draft202012Validator(outputs.get("json", {"type": "object"})).validate(json.loads(choice["text"]))
    refused = ask(client, outputs, least - 1) if least > 1 else None
    assert refused is None or (refused.status_code == 400 and f"at least {least} tokens" in refused.text)


@pytest.mark.parametrize("stream", [False, True])
def test_four_interfaces_refuse_before_a_stream(client: httpx.Client, stream: bool) -> None:
    """Chat, completions, responses and messages answer 400 with the minimum, whether they were to stream or not."""
    least, messages = minimum(client, {"json": SCHEMA}), [{"role": "user", "content": "Ada"}]
    named = {"name": "person", "schema": SCHEMA}
    bodies: dict[str, dict[str, Any]] = {
        "/v1/chat/completions": {
            "messages": messages,
            "max_tokens": least - 1,
            "response_format": {"type": "json_schema", "json_schema": named},
        },
        "/v1/completions": {"prompt": "Ada", "max_tokens": least - 1, "structured_outputs": {"json": SCHEMA}},
        "/v1/responses": {
            "input": "Ada",
            "max_output_tokens": least - 1,
            "text": {"format": {"type": "json_schema"} | named},
        },
        "/v1/messages": {
            "messages": messages,
            "max_tokens": least - 1,
            "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        },
    }
    for path, body in bodies.items():
        found = client.post(path, json=body | {"model": "smol", "stream": stream})
        assert found.status_code == 400, path
        assert f"at least {least} tokens" in found.text


def bodies(least: int) -> dict[str, dict[str, Any]]:
    """Request of each interface for the schema, within so many tokens."""
    messages, named = [{"role": "user", "content": "Ada"}], {"name": "person", "schema": SCHEMA}
    chat = {"messages": messages, "response_format": {"type": "json_schema", "json_schema": named}}
    response = {"input": "Ada", "text": {"format": {"type": "json_schema"} | named}}
    message = {"messages": messages, "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}
    return {
        "/v1/chat/completions": chat | {"max_tokens": least},
        "/v1/completions": {"prompt": "Ada", "max_tokens": least, "structured_outputs": {"json": SCHEMA}},
        "/v1/responses": response | {"max_output_tokens": least},
        "/v1/messages": message | {"max_tokens": least},
    }


def check_certificate(told: dict[str, Any], least: int) -> None:
    assert (told["complete"], told["budget"], told["min_tokens"], told["exact"]) == (True, least, least, True)
    assert 0 < told["tight_steps"] <= told["tokens_used"] == least


def test_whole_answers_have_their_certificates(client: httpx.Client) -> None:
    """Each interface tells the certificate of a whole answer, if it has a constraint."""
    least = minimum(client, {"json": SCHEMA})
    for path, body in bodies(least).items():
        answer = client.post(path, json=body | {"model": "smol", "temperature": 0}).json()
        check_certificate(answer["kv_transfer_params"]["swyb"], least)
    plain = client.post("/v1/completions", json={"model": "smol", "prompt": "Ada", "max_tokens": 4}).json()
    assert plain["kv_transfer_params"] is None
    free = ask(client, {"choice": ["yes indeed", "not at all"]}, 90).json()
    assert free["kv_transfer_params"]["swyb"]["tight_steps"] == 0
    assert not isinstance(free["choices"][0]["stop_reason"], str)  # a token, if vLLM names the end


def test_streams_end_with_their_certificates(client: httpx.Client) -> None:
    """One event of each stream has the certificate, of each choice its own; streams without a constraint have none."""
    least = minimum(client, {"json": SCHEMA})
    for path, body in bodies(least).items():
        text = client.post(path, json=body | {"model": "smol", "stream": True}).text
        events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
        fields = [event.get("response", event).get("kv_transfer_params") for event in events]
        [told] = [field for field in fields if field]
        check_certificate(told["swyb"], least)
    several = bodies(least)["/v1/completions"] | {"model": "smol", "stream": True, "n": 3, "max_tokens": least + 9}
    text = client.post("/v1/completions", json=several | {"temperature": 1.0, "seed": 4}).text
    ends = [json.loads(line[6:]) for line in text.splitlines() if '"finish_reason":"' in line]
    assert sorted(end["choices"][0]["index"] for end in ends) == [0, 1, 2]
    assert all(end["kv_transfer_params"]["swyb"]["budget"] == least + 9 for end in ends)
    plain = {"model": "smol", "prompt": "Ada", "max_tokens": 4, "stream": True}
    assert "swyb" not in client.post("/v1/completions", json=plain).text


def test_clients_libraries_read_the_certificates_of_streams(client: httpx.Client) -> None:
    """Streams are read by OpenAI's and Anthropic's own libraries, which keep the field."""
    anthropic, openai = pytest.importorskip("anthropic"), pytest.importorskip("openai")
    least = minimum(client, {"json": SCHEMA})
    asked, named = bodies(least), str(client.base_url).rstrip("/")
    chat = openai.OpenAI(base_url=f"{named}/v1", api_key="none").chat.completions
    chunks = list(chat.create(**asked["/v1/chat/completions"], model="smol", stream=True))
    [told] = [chunk.kv_transfer_params for chunk in chunks if getattr(chunk, "kv_transfer_params", None)]
    check_certificate(told["swyb"], least)
    messages = anthropic.Anthropic(base_url=named, api_key="none").messages
    with messages.stream(**asked["/v1/messages"], model="smol") as stream:
        events = list(stream)
        text = stream.get_final_text()
    [told] = [event.kv_transfer_params for event in events if getattr(event, "kv_transfer_params", None)]
    check_certificate(told["swyb"], least)
    Draft202012Validator(SCHEMA).validate(json.loads(text))


def test_what_cuts_answers_is_refused_by_name(client: httpx.Client) -> None:
    """Fields that end answers by themselves are a 400 with a constraint, and vLLM's own without one."""
    for field in ({"stop": ["}"]}, {"min_tokens": 3}, {"ignore_eos": True}, {"use_beam_search": True, "n": 2}):
        found = ask(client, {"json": SCHEMA}, 40, **field)
        assert found.status_code == 400 and next(iter(field)) in found.text
    plain = {"model": "smol", "prompt": "One, two, three,", "max_tokens": 8, "stop": ["seven"]}
    assert client.post("/v1/completions", json=plain).status_code == 200
    beams = {"model": "smol", "prompt": "One,", "max_tokens": 4, "n": 2, "use_beam_search": True, "temperature": 0}
    assert len(client.post("/v1/completions", json=beams).json()["choices"]) == 2
    unknown = ask(client, {"json": {"$ref": "https://elsewhere.example/"}}, 40)
    assert unknown.status_code == 400 and "unsupported_feature" in unknown.text


@pytest.mark.full
def test_many_at_once(client: httpx.Client) -> None:
    """Requests for which vLLM fills masks in several threads, of few grammars, are all complete."""
    patterns = ["[a-z]{2,40}x", "(ab)+c", "[0-9]{4,60}!"]

    def one(number: int) -> bool:
        pattern = patterns[number % len(patterns)]
        found = ask(client, {"regex": pattern}, 8 + number % 20, temperature=1.0, seed=number).json()["choices"][0]
        return found["finish_reason"] == "stop" and re.fullmatch(pattern, found["text"]) is not None

    with ThreadPoolExecutor(160) as pool:
        assert all(pool.map(one, range(160)))
