"""Answers of a plain vLLM server with the plug-in: how many are complete, refused, cut, by four interfaces.

`python -m benchmarks hosts --address URL` asks a server that runs (docs/how-to/plugin.md) for json-mode-eval's tasks
within 24 to 120 tokens, by Chat Completions, Completions, Responses and Messages in turn, and streams of each. Answers
are judged by json and jsonschema. The status is 0 if every answer is valid, or was refused with the minimum.
"""

from __future__ import annotations

import asyncio
import json
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import httpx
from jsonschema.validators import validator_for

from benchmarks.data import Task, read_tasks
from benchmarks.hosts.asking import outcomes_of
from benchmarks.tables import machine, markdown
from server.options.readers import positive

BUDGETS = (24, 32, 48, 64, 96, 120)
Outcome: TypeAlias = Literal["valid", "refused", "refused without the minimum", "cut", "invalid", "wrong end", "error"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
RIGHT: tuple[Outcome, ...] = ("valid", "refused")


@dataclass(frozen=True, slots=True)
class Job:
    """One request: a task, its budget, an interface, and whether the answer streams."""

    task: Task
    budget: int
    interface: str
    stream: bool


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--address", default="http://127.0.0.1:8000", help="the server's")
    parser.add_argument("--model", default="smol", help="the model's name there")
    parser.add_argument("--requests", type=positive, default=100)
    parser.add_argument("--concurrency", type=positive, default=16)
    parser.add_argument("--interface", choices=[*INTERFACES, "all"], default="all")


def run(arguments: Namespace) -> int:
    """Asks, judges, and prints counts by budget."""
    names = list(INTERFACES) if arguments.interface == "all" else [arguments.interface]
    tasks = read_tasks()
    jobs = [
        Job(
            task=tasks[number % len(tasks)],
            budget=BUDGETS[number % len(BUDGETS)],
            interface=names[number // len(BUDGETS) % len(names)],
            stream=number // (len(BUDGETS) * len(names)) % 2 == 1,
        )
        for number in range(arguments.requests)
    ]
    begun = time.perf_counter()
    outcomes = asyncio.run(
        outcomes_of(jobs, partial(_outcome, model=arguments.model), arguments.address, arguments.concurrency)
    )
    seconds = time.perf_counter() - begun
    for head, groups in (("T", BUDGETS), ("interface", names)):
        print(markdown((head, *OUTCOMES), _rows(jobs, outcomes, head, groups)), end="\n\n")
    print(f"{len(jobs) / seconds:.2f} requests a second, {arguments.concurrency} at once; {machine()}")
    return 0 if all(outcome in RIGHT for outcome in outcomes) else 1


def _rows(jobs: list[Job], outcomes: list[Outcome], head: str, groups: Sequence[object]) -> list[list[str]]:
    rows = []
    for group in groups:
        pairs = zip(jobs, outcomes, strict=True)
        found = Counter(outcome for job, outcome in pairs if group == (job.budget if head == "T" else job.interface))
        rows.append([str(group), *(str(found[outcome]) for outcome in OUTCOMES)])
    return rows


async def _outcome(client: httpx.AsyncClient, job: Job, model: str) -> Outcome:
    path, asked, read = INTERFACES[job.interface]
    response = await client.post(path, json=asked(job, model) | {"temperature": 0, "stream": job.stream})
    if response.status_code == 400:
        return "refused" if "at least" in response.text else "refused without the minimum"
    if response.status_code != 200:
        return "error"
    events = _events(response.text) if job.stream else [response.json()]
    try:
        text, ended = read(events)
    except (KeyError, IndexError, TypeError):
        return "error"
    schema = json.loads(job.task.schema)
    try:
        right = validator_for(schema)(schema).is_valid(json.loads(text))
    except ValueError:
        return "cut"
    if not right:
        return "invalid"
    return "valid" if ended else "wrong end"


def _events(text: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def _schema(job: Job) -> Any:
    return json.loads(job.task.schema)


def _ask_chat(job: Job, model: str) -> dict[str, Any]:
    wanted = {"type": "json_schema", "json_schema": {"name": "answer", "schema": _schema(job)}}
    return {"model": model, "messages": list(job.task.messages), "max_tokens": job.budget, "response_format": wanted}


def _read_chat(events: list[Any]) -> tuple[str, bool]:
    choices = [event["choices"][0] for event in events if event["choices"]]
    texts = [choice.get("message") or choice["delta"] for choice in choices]
    text = "".join(part.get("content") or "" for part in texts)
    return text, [choice["finish_reason"] for choice in choices if choice.get("finish_reason")] == ["stop"]


def _ask_completion(job: Job, model: str) -> dict[str, Any]:
    prompt = "\n".join(message["content"] for message in job.task.messages)
    outputs = {"json": _schema(job)}
    return {"model": model, "prompt": prompt, "max_tokens": job.budget, "structured_outputs": outputs}


def _read_completion(events: list[Any]) -> tuple[str, bool]:
    choices = [event["choices"][0] for event in events if event["choices"]]
    ends = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
    return "".join(choice["text"] for choice in choices), ends == ["stop"]


def _ask_response(job: Job, model: str) -> dict[str, Any]:
    wanted = {"type": "json_schema", "name": "answer", "schema": _schema(job)}
    messages = list(job.task.messages)
    return {"model": model, "input": messages, "max_output_tokens": job.budget, "text": {"format": wanted}}


def _read_response(events: list[Any]) -> tuple[str, bool]:
    last = events[-1].get("response", events[-1])
    texts = [part["text"] for item in last["output"] if item["type"] == "message" for part in item["content"]]
    return "".join(texts), last["status"] == "completed"


def _ask_message(job: Job, model: str) -> dict[str, Any]:
    system = "\n".join(message["content"] for message in job.task.messages if message["role"] == "system")
    messages = [message for message in job.task.messages if message["role"] != "system"]
    wanted = {"format": {"type": "json_schema", "schema": _schema(job)}}
    asked = {"model": model, "messages": messages, "max_tokens": job.budget, "output_config": wanted}
    return asked | ({"system": system} if system else {})


def _read_message(events: list[Any]) -> tuple[str, bool]:
    if events[0]["type"] == "message":
        texts = [part["text"] for part in events[0]["content"] if part["type"] == "text"]
        return "".join(texts), events[0]["stop_reason"] == "end_turn"
    deltas = [event["delta"] for event in events if "delta" in event]
    ends = [delta["stop_reason"] for delta in deltas if delta.get("stop_reason")]
    return "".join(delta.get("text", "") for delta in deltas), ends == ["end_turn"]


INTERFACES = {
    "chat": ("/v1/chat/completions", _ask_chat, _read_chat),
    "completions": ("/v1/completions", _ask_completion, _read_completion),
    "responses": ("/v1/responses", _ask_response, _read_response),
    "messages": ("/v1/messages", _ask_message, _read_message),
}
"""Routes, how a job is asked there, and how the text and its end are read."""
