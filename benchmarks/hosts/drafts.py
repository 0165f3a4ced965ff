"""Texts of two vLLM servers with the plug-in, one that drafts tokens: where they part, and how near the choice was.

`python -m benchmarks hosts_drafts --drafting URL --plain URL` asks both for the same greedy answers. Servers are
started with `--logprobs-mode processed_logits`, so that what they tell of tokens are logits. In float32 texts are to be
equal.

In bfloat16 a batch of drafts rounds otherwise than single tokens, and each difference is to begin at a near-tie. Which
margin is one is measured: as long as two texts are equal both servers have computed the same logits, and how far these
differ is what rounding does to one. The order of two tokens may turn where their margin is at most twice that, which is
taken as the 99th percentile. Beside it stands the spacing of bfloat16 at the logit, 2^-7 of the power of two below it:
0.125 between 16 and 32. The status is 0 if no difference begins at a larger margin.
"""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser, Namespace
from functools import partial
from itertools import zip_longest
from math import frexp
from typing import Any, TypeAlias

import httpx
import numpy as np

from benchmarks.data import read_tasks
from benchmarks.hosts.answers import BUDGETS, INTERFACES, Job
from benchmarks.hosts.asking import outcomes_of
from benchmarks.tables import machine, markdown
from server.options.readers import positive

Tokens: TypeAlias = list[tuple[str, dict[str, float]]]
"""Tokens of an answer, each with the logits of the best ones there."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--drafting", default="http://127.0.0.1:8000", help="the server with drafts")
    parser.add_argument("--plain", default="http://127.0.0.1:8001", help="the server without")
    parser.add_argument("--model", default="smol", help="the model's name on both")
    parser.add_argument("--requests", type=positive, default=40)
    parser.add_argument("--concurrency", type=positive, default=1, help="more than one: batches round otherwise too")


def run(arguments: Namespace) -> int:
    """Asks both, and prints each difference with its margin."""
    tasks = read_tasks()
    count = range(arguments.requests)
    jobs = [Job(tasks[k % len(tasks)], BUDGETS[k % len(BUDGETS)], "chat", False) for k in count]
    drafting, plain = (
        asyncio.run(outcomes_of(jobs, partial(_tokens, model=arguments.model), address, arguments.concurrency))
        for address in (arguments.drafting, arguments.plain)
    )
    table, margins = [], []
    for number, (one, other) in enumerate(zip(drafting, plain, strict=True)):
        place = parting(one, other)
        if place is not None:
            margins.append(margin(other, one, place))
            step = f"{spacing(other[place][1][other[place][0]]):.4f}" if place < len(other) else ""
            table.append([str(number), str(jobs[number].budget), str(place), f"{margins[-1]:.4f}", step])
    differences = [one for pair in zip(drafting, plain, strict=True) for one in roundings(*pair)]
    near = 2 * float(np.quantile(differences or [0.0], 0.99))
    print(markdown(("request", "T", "differs at token", "margin", "spacing of bfloat16 there"), table))
    answered = sum(bool(tokens) for tokens in plain)
    print(f"{len(margins)} of {answered} texts differ, {len(jobs) - answered} are refused by both; {machine()}")
    print(f"near-ties have a margin of at most {near:.4f}: twice what logits differ by in equal texts (99th percentile")
    print(f"of {len(differences)}; mean {np.mean(differences or [0.0]):.4f}, most {max(differences, default=0.0):.4f})")
    return 0 if all(one <= near for one in margins) else 1


def parting(one: Tokens, other: Tokens) -> int | None:
    """First place at which two answers have different tokens; None where they are equal."""
    pairs = enumerate(zip_longest((token for token, _ in one), (token for token, _ in other)))
    return next((place for place, (here, there) in pairs if here != there), None)


def roundings(one: Tokens, other: Tokens) -> list[float]:
    """Differences of tokens' logits between two answers, at the places before they part."""
    pairs = list(zip(one, other, strict=False))[: parting(one, other)]
    return [abs(here[token] - there[token]) for (_, here), (_, there) in pairs for token in here.keys() & there.keys()]


def spacing(logit: float) -> float:
    """Distance of neighbouring numbers of bfloat16, which have 8 significant bits."""
    return 2.0 ** (frexp(logit)[1] - 8)


def margin(plain: Tokens, drafting: Tokens, place: int) -> float:
    """Logit of the plain answer's token above that of the other's; infinite where that isn't a best one."""
    if place >= min(len(plain), len(drafting)):
        return float("inf")
    token, best = plain[place]
    return best[token] - best.get(drafting[place][0], -float("inf"))


async def _tokens(client: httpx.AsyncClient, job: Job, model: str) -> Tokens:
    """Tokens of an answer; none where its budget is refused."""
    path, asked, _ = INTERFACES[job.interface]
    body: dict[str, Any] = asked(job, model) | {"temperature": 0, "logprobs": True, "top_logprobs": 8}
    response = await client.post(path, json=body)
    if response.status_code == 400 and "at least" in response.text:
        return []
    places = response.raise_for_status().json()["choices"][0]["logprobs"]["content"]
    return [
        (place["token"], {one["token"]: one["logprob"] for one in [*place["top_logprobs"], place]}) for place in places
    ]
