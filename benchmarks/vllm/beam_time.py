"""Beams with vLLM: what a step costs, beside decoding as many single texts and beside vLLM's own beam search.

`python -m benchmarks.vllm.beam_time`, where vLLM is installed (`make test-vllm` does it). A step costs wall time, and
CPU time of all processes; on a machine that others use, only the latter means something. All take turns, and medians
count.
"""

from __future__ import annotations

import asyncio
import time
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # vLLM's processes import this module, and have to be the first to import what compiles
    from vllm.v1.engine.async_llm import AsyncLLM

    from grammar_cache.constraint import Whitespace
    from server.backends.backend import Work
    from server.backends.vllm.frontend.instance import Instance
    from server.backends.vllm.frontend.model import VllmModel
    from server.decoding.answer import Answer

OPTIONS = "--dtype bfloat16 --max-model-len 1024 --block-size 32 --enforce-eager"
SHAPES = ((1, 4), (4, 2), (4, 4))
"""Requests at once, and beams of each."""
TOKENS = 32
SCHEMA = """{"type": "object", "additionalProperties": false,
  "required": ["name", "age", "colour_of_the_fur", "is_friendly_to_children", "favourite_food"],
  "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0, "maximum": 30},
    "colour_of_the_fur": {"enum": ["black", "white", "tabby"]}, "is_friendly_to_children": {"type": "boolean"},
    "favourite_food": {"enum": ["fish", "chicken", "milk"]}}}"""
WHITESPACE: tuple[Whitespace, ...] = ("compact", "bounded")
SAID = ("Describe a cat.", "Write about the sea.", "Explain how bread is baked.", "Tell a story of a king.")


Jobs: TypeAlias = list[Coroutine[Any, Any, Any]]
Ways: TypeAlias = dict[str, Callable[[], Jobs]]
"""Ways to be compared, by name: each makes its jobs anew, which then run at the same time."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds."""

    wall: float
    cpu: float

    def each(self, count: int) -> str:
        return f"{self.wall / count * 1e3:6.0f} ms, {self.cpu / count * 1e3:6.0f} ms of CPU"


class _Tokenizer:
    eos_token_id = -1

    def decode(self, *_: object, **__: object) -> str:
        return ""


class _Renderer:
    def get_tokenizer(self) -> _Tokenizer:
        return _Tokenizer()


def arguments() -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks.vllm.beam_time")
    parser.add_argument("--model", type=Path, help="a model's folder (default: the embedded model)")
    parser.add_argument("--options", default=OPTIONS, help="of vLLM's engine")
    parser.add_argument("--turns", type=int, default=3)
    return parser.parse_args()


async def main(given: Namespace) -> None:
    from server.backends.vllm.frontend.environment import prepare
    from server.engines.embedded import default_cache, ensure_embedded_model

    prepare()
    from vllm.v1.engine.async_llm import AsyncLLM

    from server.backends.vllm.frontend.instance import Instance
    from server.backends.vllm.frontend.model import VllmModel
    from server.backends.vllm.frontend.options import engine_args

    folder = given.model or Path(ensure_embedded_model(default_cache(), print))
    model = VllmModel(folder, None, default_cache(), 1024)
    prompts = [tuple(model.encode([{"role": "user", "content": said}])) for said in SAID]
    llm = AsyncLLM.from_engine_args(engine_args(folder, given.options.split()))
    instance = Instance(llm, model.vocabulary)
    try:
        await _steps(llm, instance, prompts, given.turns)
        await _schema(instance, prompts, model, given.turns)
    finally:
        await instance.close()


async def _steps(llm: AsyncLLM, instance: Instance, prompts: list[tuple[int, ...]], turns: int) -> None:
    await asyncio.gather(*_beams(instance, prompts[:1], 4, None))  # compiles
    for requests, width in SHAPES:
        some = prompts[:requests]
        native = [(*prompts[number % 4], number) for number in range(requests * width)]
        ways: Ways = {
            "single texts": partial(_all_single, llm, native),
            "ours": partial(_beams, instance, some, width, None),
            "vLLM's beams": partial(_all_vllms, llm, some, width),
        }
        print(f"{requests} x M = {width}, a step:", flush=True)
        for name, costs in (await _turns(ways, turns)).items():
            print(f"  {name:14}{_median([cost for cost, _ in costs]).each(TOKENS)}", flush=True)


async def _schema(instance: Instance, prompts: list[tuple[int, ...]], model: VllmModel, turns: int) -> None:
    from grammar_cache import Constraint, compile_grammar
    from server.decoding.forced_text import ForcedText

    for whitespace in WHITESPACE:
        grammar = compile_grammar(Constraint("json_schema", SCHEMA, whitespace=whitespace), model.vocabulary)
        ways: Ways = {
            "no jumps": partial(_beams, instance, prompts, 4, grammar, jump=False),
            "over tokens": partial(_beams, instance, prompts, 4, grammar),
            "over text": partial(_beams, instance, prompts, 4, ForcedText(grammar, model.split)),
        }
        print(f"schema, white space {whitespace}, 4 x M = 4:", flush=True)
        for name, costs in (await _turns(ways, turns)).items():
            cost = _median([cost for cost, _ in costs])
            count = sum(answer.tokens_used for answer in costs[0][1])
            rates = f"{count / cost.wall:5.1f} tokens/s, {count / cost.cpu:5.1f} per second of CPU"
            print(f"  {name:14}{rates}; {count} tokens", flush=True)


async def _turns(ways: Ways, turns: int) -> dict[str, list[tuple[Cost, list[Any]]]]:
    """Costs of each way, turn by turn, and what it yields; the first turn is for warming up."""
    found: dict[str, list[tuple[Cost, list[Any]]]] = {name: [] for name in ways}
    for turn in range(turns + 1):
        for name, jobs in ways.items():
            measured = await _measured(jobs())
            if turn:
                found[name].append(measured)
    return found


def _median(costs: list[Cost]) -> Cost:
    return Cost(median(cost.wall for cost in costs), median(cost.cpu for cost in costs))


def _beams(instance: Instance, prompts: list[tuple[int, ...]], width: int, grammar: Any, *, jump: bool = True) -> Jobs:
    from server.backends.backend import Work
    from server.decoding.parameters import Parameters

    budget = TOKENS if grammar is None else 4 * TOKENS
    parameters = Parameters(budget=budget, beam_width=width, jump_forward=jump)
    return [_answer(instance, Work(prompt, grammar, parameters)) for prompt in prompts]


async def _answer(instance: Instance, work: Work) -> Answer:
    found: Answer = await _last(instance.run(work))
    return found


def _all_single(llm: AsyncLLM, prompts: list[tuple[int, ...]]) -> Jobs:
    return [_single(llm, prompt) for prompt in prompts]


def _all_vllms(llm: AsyncLLM, prompts: list[tuple[int, ...]], width: int) -> Jobs:
    return [_vllms_beams(llm, prompt, width) for prompt in prompts]


def _single(llm: AsyncLLM, prompt: tuple[int, ...]) -> Coroutine[Any, Any, Any]:
    from vllm import SamplingParams
    from vllm.inputs.engine import tokens_input

    params = SamplingParams(temperature=0.0, max_tokens=TOKENS, ignore_eos=True, detokenize=False)
    return _last(llm.generate(tokens_input(list(prompt)), params, f"single-{time.monotonic_ns()}"))


def _vllms_beams(llm: AsyncLLM, prompt: tuple[int, ...], width: int) -> Coroutine[Any, Any, Any]:
    from vllm.entrypoints.generate.beam_search.online import BeamSearchOnlineMixin
    from vllm.inputs.engine import tokens_input
    from vllm.sampling_params import BeamSearchParams

    search = BeamSearchOnlineMixin()
    search.engine_client, search.renderer = llm, _Renderer()
    params = BeamSearchParams(beam_width=width, max_tokens=TOKENS, ignore_eos=True)
    return _last(search.beam_search(tokens_input(list(prompt)), f"beams-{time.monotonic_ns()}", params))


async def _last(events: AsyncGenerator[Any]) -> Any:
    async with aclosing(events):
        return [event async for event in events][-1]


async def _measured(jobs: Jobs) -> tuple[Cost, list[Any]]:
    wall, cpu = time.perf_counter(), _cpu_seconds()
    found = await asyncio.gather(*jobs)
    return Cost(time.perf_counter() - wall, _cpu_seconds() - cpu), found


def _cpu_seconds() -> float:
    """CPU seconds of this process and all that it has started."""
    import psutil

    this = psutil.Process()
    times = [process.cpu_times() for process in (this, *this.children(recursive=True))]
    return float(sum(each.user + each.system for each in times))


if __name__ == "__main__":
    asyncio.run(main(arguments()))
