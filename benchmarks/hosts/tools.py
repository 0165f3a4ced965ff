"""Tool calls of a plain vLLM server with the plug-in: how many are complete, refused, cut.

`python -m benchmarks tools --address URL` asks for the tasks of the Berkeley function-calling leaderboard that are in
the data's folder, with `tool_choice` required, named and auto, strict and not, within 24 to 120 tokens. Arguments are
judged by json, and by jsonschema where the tools are strict. The status is 0 if no call was cut or invalid.
"""

from __future__ import annotations

import asyncio
import json
from argparse import ArgumentParser, Namespace
from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import httpx
from jsonschema import Draft202012Validator

from benchmarks.data import data_file
from benchmarks.hosts.answers import BUDGETS
from benchmarks.hosts.asking import outcomes_of
from benchmarks.tables import machine, markdown
from server.options.readers import positive

QUESTIONS = Path("bfcl", "questions.jsonl")
CHOICES = ("required", "named", "auto")
Outcome: TypeAlias = Literal["called", "text", "refused", "cut", "invalid", "error"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True, slots=True)
class Job:
    """One request: messages and tools, how a tool is chosen, whether tools are strict, and the budget."""

    messages: Any
    tools: Any
    choice: str
    strict: bool
    budget: int


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--address", default="http://127.0.0.1:8000", help="the server's, started with a tool parser")
    parser.add_argument("--model", default="smol", help="the model's name there")
    parser.add_argument("--requests", type=positive, default=72)
    parser.add_argument("--concurrency", type=positive, default=16)


def run(arguments: Namespace) -> int:
    """Asks, judges, and prints counts by choice."""
    lines = data_file(QUESTIONS).read_text(encoding="utf-8").splitlines()
    ways = list(product(CHOICES, (True, False), BUDGETS))
    jobs = []
    for number in range(arguments.requests):
        task, (choice, strict, budget) = json.loads(lines[number % len(lines)]), ways[number % len(ways)]
        tools = [tool | {"function": tool["function"] | {"strict": strict}} for tool in task["tools"]]
        jobs.append(Job(task["messages"], tools, choice, strict, budget))
    outcomes = asyncio.run(
        outcomes_of(jobs, partial(_outcome, model=arguments.model), arguments.address, arguments.concurrency)
    )
    rows = []
    for choice, strict in product(CHOICES, (True, False)):
        found = Counter(
            outcome for job, outcome in zip(jobs, outcomes, strict=True) if (job.choice, job.strict) == (choice, strict)
        )
        rows.append([f"{choice}{', strict' if strict else ''}", *(str(found[outcome]) for outcome in OUTCOMES)])
    print(markdown(("tool_choice", *OUTCOMES), rows))
    print(machine())
    return 1 if {"cut", "invalid", "error"} & set(outcomes) else 0


async def _outcome(client: httpx.AsyncClient, job: Job, model: str) -> Outcome:
    chosen: Any = job.choice
    if chosen == "named":
        chosen = {"type": "function", "function": {"name": job.tools[0]["function"]["name"]}}
    body = {"model": model, "messages": job.messages, "tools": job.tools, "tool_choice": chosen}
    response = await client.post("/v1/chat/completions", json=body | {"max_tokens": job.budget, "temperature": 0})
    if response.status_code == 400:
        return "refused" if "at least" in response.text else "error"
    if response.status_code != 200:
        return "error"
    [choice] = response.json()["choices"]
    calls = choice["message"].get("tool_calls") or []
    if not calls:
        text = choice["message"].get("content") or ""
        return "text" if job.choice == "auto" and "<tool_call>" not in text else "cut"
    return _judged(job, calls)


def _judged(job: Job, calls: list[Any]) -> Outcome:
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in job.tools}
    for call in calls:
        try:
            arguments = json.loads(call["function"]["arguments"])
        except ValueError:
            return "cut"
        schema = schemas.get(call["function"]["name"])
        if schema is None or (job.strict and not Draft202012Validator(schema).is_valid(arguments)):
            return "invalid"
    return "called"
