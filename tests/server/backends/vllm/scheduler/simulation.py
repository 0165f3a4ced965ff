"""vLLM's own scheduler with workers in miniature, which check that memory holds each row's text."""

from __future__ import annotations

import random
from collections import deque
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from grammar_cache import Constraint, compile_grammar
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.vllm.frontend.capacity import Room, room_for
from server.backends.vllm.wire.choices import ATTRIBUTE
from server.backends.vllm.wire.requests import BEAM, KEY, SearchRequest
from server.backends.vllm.worker.beam_search import Searches, told
from server.backends.vllm.worker.registry import Registry
from server.decoding.answer import Answer
from server.decoding.decoder import Decoder
from server.decoding.logits import ArrayRow
from server.decoding.parameters import Parameters
from tests.cached import model_folder
from tests.server.backends.vllm.fakes import no_split
from tests.server.backends.vllm.frontend.test_reading import direct, logits_after

BLOCK = 4
KINDS = ((BLOCK, None),)
STEPS = 4000

Modes = dict[str, Any]
MODES: tuple[Modes, ...] = ({}, {"asynchronous": True}, {"asynchronous": True, "newer": True}, {"tokens": 6})
"""Settings as on a processor; as on a GPU, with the older and the newer model runner; and few tokens in a step."""


@cache
def vllm_config() -> Any:
    from server.backends.vllm.frontend.options import engine_args

    options = ("--max-model-len", "256", "--dtype", "float32", "--kv-cache-memory-bytes", "64M", "--enforce-eager")
    return engine_args(model_folder(), options).create_engine_config()


def made(
    blocks: int,
    seats: int,
    *,
    tokens: int = 64,
    asynchronous: bool = False,
    newer: bool = False,
    windows: int = 0,
    cached: bool = True,
) -> Any:
    """Our scheduler over vLLM's, for so much memory, tokens in a step, and groups of layers whose windows slide."""
    import torch
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec, SlidingWindowSpec
    from vllm.v1.structured_output import StructuredOutputManager

    from server.backends.vllm.scheduler.scheduler import scheduler

    config = deepcopy(vllm_config())
    config.scheduler_config.async_scheduling = asynchronous
    config.scheduler_config.max_num_seqs = seats
    config.scheduler_config.max_num_batched_tokens = max(tokens, seats)
    config.scheduler_config.max_num_scheduled_tokens = None
    config.cache_config.num_gpu_blocks = blocks
    config.cache_config.enable_prefix_caching = cached
    shape: dict[str, Any] = {"block_size": BLOCK, "num_kv_heads": 1, "head_size": 8, "dtype": torch.float32}
    specs = [FullAttentionSpec(**shape), *[SlidingWindowSpec(**shape, sliding_window=16)] * windows]
    groups = [KVCacheGroupSpec([f"layer {at}"], spec) for at, spec in enumerate(specs)]
    found = scheduler(
        vllm_config=config,
        kv_cache_config=KVCacheConfig(blocks, [], groups),
        structured_output_manager=StructuredOutputManager(config),
        block_size=BLOCK,
        hash_block_size=BLOCK,
    )
    found.use_v2_model_runner = newer
    return found


def request(
    name: str, prompt: list[int], most: int, extra: dict[str, Any] | None = None, ends: list[int] | None = None
) -> Any:
    from vllm import SamplingParams
    from vllm.utils.hashing import sha256
    from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
    from vllm.v1.request import Request

    init_none_hash(sha256)
    sampling = SamplingParams(
        temperature=0.0, max_tokens=most, ignore_eos=True, stop_token_ids=ends, detokenize=False, extra_args=extra
    )
    return Request(name, prompt, sampling, None, block_hasher=get_request_block_hasher(BLOCK, sha256))


@dataclass(eq=False)
class Text:
    """A request as a worker has it."""

    row: str | None
    tokens: list[int]
    blocks: list[int]
    computed: int = 0


class Workers:
    """One that computes with what is in its memory: a token at each place of a block."""

    def __init__(self, grammar: CompiledGrammar) -> None:
        self.registry = Registry(grammar.vocabulary, no_split)
        self.registry.add("g", grammar)
        self.searches = Searches(self.registry)
        self.texts: dict[str, Text] = {}
        self.memory: dict[int, list[int]] = {}
        self.steps = 0
        self.copied = 0

    def step(self, output: Any) -> Any:
        from vllm.v1.outputs import ModelRunnerOutput

        self.searches.expect(getattr(output, ATTRIBUTE))
        self.update(output)
        names = list(output.num_scheduled_tokens)
        self.steps += bool(names)
        logits = {name: self.computed(self.texts[name], output.num_scheduled_tokens[name]) for name in names}
        rows = {text.row: at for at, name in enumerate(names) if (text := self.texts[name]).row}
        sampled = [0 if found is None else int(found.argmax()) for found in logits.values()]
        for turn in self.searches.turns(rows):
            found = [logits[names[place]] for place in turn.places]
            computed = [row for row in found if row is not None]
            assert len(computed) == len(found)
            turn.search.advance([ArrayRow(row) for row in computed], self.registry.vocabulary.size)
            for row, token in turn.search.kept().items():
                sampled[turn.places[row]] = token
        tokens = [[] if logits[name] is None else [token] for name, token in zip(names, sampled, strict=True)]
        for name, new in zip(names, tokens, strict=True):
            self.texts[name].tokens += new
        result = ModelRunnerOutput(names, {name: at for at, name in enumerate(names)}, tokens)
        setattr(result, ATTRIBUTE, self.searches.take())
        return result

    def update(self, output: Any) -> None:
        for name in output.finished_req_ids:
            self.texts.pop(name, None)
        for source, target in output.kv_cache_block_copies or ():
            self.memory[target] = list(self.memory[source])
            self.copied += 1
        for new in output.scheduled_new_reqs:
            extra = new.sampling_params.extra_args or {}
            if KEY in extra:
                self.searches.begin(SearchRequest.from_dict(extra[KEY]))
            tokens = list(new.prefill_token_ids or new.prompt_token_ids)
            self.texts[new.req_id] = Text(extra.get(BEAM), tokens, list(new.block_ids[0]), new.num_computed_tokens)
        known = output.scheduled_cached_reqs
        for at, name in enumerate(known.req_ids):
            text = self.texts[name]
            text.computed = known.num_computed_tokens[at]
            blocks = known.new_block_ids[at]
            if name in known.resumed_req_ids:
                text.blocks = []
            text.blocks += blocks[0] if blocks else []

    def computed(self, text: Text, count: int) -> np.ndarray | None:
        """The logits behind what is then computed; None if that isn't all of the text."""
        for place in range(text.computed, text.computed + count):
            block = self.memory.setdefault(text.blocks[place // BLOCK], [-1] * BLOCK)
            block[place % BLOCK] = text.tokens[place]
        held = [self.memory[text.blocks[p // BLOCK]][p % BLOCK] for p in range(text.computed + count)]
        assert held == text.tokens[: len(held)]
        return logits_after(held, self.registry.vocabulary.size) if len(held) == len(text.tokens) else None


@dataclass(eq=False)
class Job:
    """`expected`: what it must end with; `room`: what it may need."""

    request: Any
    room: Room
    expected: Any
    news: list[Any] = field(default_factory=list)
    ended: bool = False
    given_up: bool = False


class Engine:
    """The loop of vLLM's engine, with at most two steps under way."""

    def __init__(self, scheduler: Any, workers: Workers, *, asynchronous: bool) -> None:
        self.scheduler, self.workers = scheduler, workers
        self.depth = 2 if asynchronous else 1
        self.under_way: deque[tuple[Any, Any]] = deque()
        self.jobs: dict[str, Job] = {}
        self.empty = 0

    def add(self, job: Job) -> None:
        self.jobs[job.request.request_id] = job
        self.scheduler.add_request(job.request)

    def give_up(self, job: Job) -> None:
        from vllm.v1.request import RequestStatus

        job.given_up = job.ended = True
        self.scheduler.finish_requests([job.request.request_id], RequestStatus.FINISHED_ABORTED)

    def step(self) -> None:
        if self.scheduler.has_requests():
            output = self.scheduler.schedule()
            self.under_way.append((output, self.workers.step(output)))
            self.empty += not output.total_num_scheduled_tokens
            if len(self.under_way) < self.depth and output.total_num_scheduled_tokens:
                return
        if self.under_way:
            for those in self.scheduler.update_from_output(*self.under_way.popleft()).values():
                for one in those.outputs:
                    self.tell(self.jobs[one.request_id], one)

    def tell(self, job: Job, output: Any) -> None:
        assert not job.ended
        job.news += [output.kv_transfer_params] if job.request.sampling_params.extra_args else output.new_token_ids
        job.ended = output.finish_reason is not None

    def nothing_is_left(self, free: int) -> None:
        """All memory is free, and nobody knows any request."""
        for _ in range(4):
            self.step()
        assert not self.scheduler.requests and not self.scheduler.running
        assert not (self.scheduler._groups or self.scheduler._group_of or self.scheduler._begun)
        assert self.scheduler.kv_cache_manager.block_pool.get_num_free_blocks() == free
        assert not self.workers.searches._searches


def beams_job(name: str, grammar: CompiledGrammar, parameters: Parameters) -> Job | None:
    """A job from the prompt of `direct`; None for an answer that needs no model."""
    decoder = Decoder(grammar, parameters)
    if decoder.answers:
        return None
    prompt = [1, 0, 1]
    asked = SearchRequest(name, "g", parameters, *decoder.wanted.tokens)
    began = request(
        f"{name}-id", prompt + list(decoder.wanted.tokens[0]), parameters.budget, {KEY: asked.to_dict(), BEAM: name}
    )
    answers: tuple[Answer, ...] = direct(grammar, parameters)
    room = room_for(len(prompt) + parameters.budget, parameters.beam_width, KINDS)
    return Job(began, room, [told(answer) for answer in answers])


def plain_job(name: str, grammar: CompiledGrammar, prompt: list[int], most: int) -> Job:
    text = list(prompt)
    while len(text) < len(prompt) + most:
        text.append(int(logits_after(text, grammar.vocabulary.size).argmax()))
    return Job(request(name, prompt, most), room_for(len(text), None, KINDS), text[len(prompt) :])


VOCABULARIES = ([b"a", b"b", b"c", None], [b"a", b"b", b"c", b"ab", b"ca", b"bcab", None, None])
TEXTS = ("[a-c]{9,30}a[a-c]*", "([a-c]{2}(abcabcabc|bac|cbacba)){2,5}", "a[a-c]*b")


def random_jump(rng: random.Random) -> CompiledGrammar:
    """A grammar whose texts fork, and have parts that the tokens of one vocabulary jump over."""
    vocabulary = Vocabulary(tokens := rng.choice(VOCABULARIES), [len(tokens) - 1])
    return compile_grammar(Constraint("regex", rng.choice(TEXTS)), vocabulary)


def jobs_of(rng: random.Random, grammar: CompiledGrammar) -> list[Job]:
    found = []
    for number in range(rng.randint(2, 5)):
        width, budget = rng.choice((1, 2, 3, 4)), grammar.minimum.tokens + rng.randint(0, 20)
        parameters = Parameters(budget, width, rng.randint(1, width), rng.choice((0.0, 0.3)), seed=number)
        found.append(beams_job(f"beams{number}", grammar, replace(parameters, jump_forward=rng.random() < 0.8)))
    for number in range(rng.randint(0, 4)):
        prompt = [rng.randrange(grammar.vocabulary.size) for _ in range(rng.randint(1, 40))]
        found.append(plain_job(f"plain{number}", grammar, prompt, rng.randint(1, 12)))
    return [job for job in found if job is not None]
