"""Lines of the log: one a request, in JSON, with nothing that a client has written."""

from __future__ import annotations

import errno
import json
import re
import time
from typing import Any

import httpx
import pytest

from server.settings import Settings, TelemetryOptions
from server.telemetry.record import Record
from server.telemetry.request_log import RequestLog
from tests.server.engines.scripts import uniform
from tests.server.running import SCHEMA, VOCABULARY, eventually, request, schema_format, serving
from tests.server.telemetry.traffic import MARKER, all_kinds, ask, hostile

KEY = "zqxkey-0123456789"


def lines(captured: str) -> list[dict[str, Any]]:
    """Lines of requests; other lines of the log are none of theirs."""
    return [json.loads(line) for line in captured.splitlines() if line.startswith("{")]


def test_one_line_a_request_and_none_of_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is sent, where ever a client may write: prompt, constraint, names, paths, ids, keys."""
    with serving(settings=Settings(api_key=KEY)) as server:
        answers = all_kinds(server.client, {"Authorization": f"Bearer {KEY}"})
        texts = [
            choice["message"]["content"]
            for answer in answers
            if answer.status_code == 200
            for choice in answer.json()["choices"]
        ]
        hostile(server.client, 3)
        server.client.get("/health")
        metrics = server.client.get("/metrics").text
    captured = capsys.readouterr()
    told = lines(captured.err)
    assert captured.out == ""
    logged = "\n".join(line for line in captured.err.splitlines() if '"id"' in line)
    # An id that a client chose is the one thing of its own that is told, as in the answer.
    for text in [MARKER, KEY, "scripted-key", *(text for text in texts if len(text) > 8)]:
        assert text not in re.sub(rf'"id":"{MARKER}\d+"', "", logged), text
        assert text not in metrics
    assert {line["route"] for line in told} >= {"/v1/chat/completions", "/v1/models/{model:path}", "other"}
    assert not {line["route"] for line in told} & {"/health", "/ready", "/metrics"}
    assert {line["key"] for line in told} == {"default", "anonymous"}
    assert {line["method"] for line in told} <= {"GET", "POST", "DELETE", "other"}


def test_each_prompt_has_a_budget_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """Prompts of a request leave different room; a line tells the most, and the least that an answer has left."""
    with serving(context_window=64) as server:
        prompts = ["a" * 10, "a" * 40]
        sent = {"model": "scripted", "prompt": prompts, "max_tokens": 200, "regex": "b{20}"}
        answer = server.client.post("/v1/completions", json=sent)
    assert answer.status_code == 200, answer.text
    [line] = [line for line in lines(capsys.readouterr().err) if line["method"] == "POST"]
    rooms = [63 - len(prompt) for prompt in prompts]  # a token begins each prompt
    used = [choice["swyb"]["tokens_used"] for choice in answer.json()["choices"]]
    assert line["budget"] == max(rooms)
    assert line["slack"] == min(room - tokens for room, tokens in zip(rooms, used, strict=True))


def test_a_line_says_what_the_answer_says(capsys: pytest.CaptureFixture[str]) -> None:
    """Id, tokens, minimum, budget and times of an answer, and the code of a refusal."""
    with serving() as server:
        begun = time.time()
        shape = schema_format(SCHEMA)
        answer = ask(server.client, {"x-request-id": "mine-1"}, max_tokens=40, response_format=shape)
        seconds = time.time() - begun
        ask(server.client, {"x-request-id": "mine-2"}, max_tokens=2, response_format=shape)
        lost = server.client.post("/v1/chat/completions", json=request(), headers={"x-request-id": "not sane\x7f"})
    first, second, third = [line for line in lines(capsys.readouterr().err) if line["method"] == "POST"]
    body = answer.json()
    known = body["swyb"]
    assert first["id"] == answer.headers["x-request-id"] == "mine-1"
    assert (first["prompt_tokens"], first["completion_tokens"]) == (
        body["usage"]["prompt_tokens"],
        body["usage"]["completion_tokens"],
    )
    assert (first["grammar_id"], first["minimum"], first["budget"]) == (known["grammar_id"], known["min_tokens"], 40)
    assert first["slack"] == 40 - known["tokens_used"]
    assert first["finished"] == {body["choices"][0]["finish_reason"]: 1}
    parts = [first[name] for name in ("compile_ms", "queue_ms", "decode_ms")]
    assert sum(parts) <= first["ms"] <= 1000 * seconds
    assert 0 < first["first_token_ms"] <= first["ms"]
    assert (second["status"], second["error"], second["minimum"]) == (400, "budget_too_small", known["min_tokens"])
    assert third["id"] == lost.headers["x-request-id"]


def test_a_client_that_goes_is_told_as_gone(capsys: pytest.CaptureFixture[str]) -> None:
    """A stream that nobody reads to its end has the status that went out, and says so."""
    plain = uniform(VOCABULARY.size)

    def slow(history: tuple[int, ...]) -> Any:
        time.sleep(0.01)
        return plain(history)

    with serving(slow, context_window=50_000) as server:
        with httpx.Client(base_url=server.base, timeout=60) as client:
            body = request(stream=True, max_tokens=20_000, response_format={"type": "regex", "regex": "a{9000}b*"})
            with client.stream("POST", "/v1/chat/completions", json=body) as streamed:
                next(streamed.iter_lines())
        eventually(lambda: server.service.present == 0)
        metrics = server.client.get("/metrics").text
    [line] = [line for line in lines(capsys.readouterr().err) if line["method"] == "POST"]
    assert (line["status"], line["abandoned"], line["finished"]) == (200, True, {"abort": 1})
    assert 'swyb:request_success_total{finished_reason="abort",model_name="scripted"} 1.0' in metrics


@pytest.mark.parametrize("where", ["stdout", "off"])
def test_where_lines_go(capsys: pytest.CaptureFixture[str], where: Any) -> None:
    """Elsewhere, or nowhere, if that is wanted."""
    with serving(settings=Settings(telemetry=TelemetryOptions(request_log=where))) as server:
        server.chat(max_tokens=2)
    captured = capsys.readouterr()
    assert lines(captured.err) == []
    assert len(lines(captured.out)) == (1 if where == "stdout" else 0)


def test_a_log_that_cannot_be_written_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """A disk that is full fails no request: the loss is told when it begins, and lines come again afterwards."""
    written: list[str] = []
    full = [True]

    def write(line: str) -> None:
        if full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(line)

    log = RequestLog(write)
    for full[0] in (True, True, False, True):
        log.tell(Record())
    assert len(written) == 1
    assert [record.getMessage() for record in caplog.records] == [
        "lines of requests are lost: [Errno 28] No space left on device"
    ] * 2
