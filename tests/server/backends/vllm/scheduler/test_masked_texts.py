"""vLLM's own scheduler and manager of structured outputs with our grammar objects, and samplers in miniature."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from grammar_cache import Constraint, compile_grammar
from grammar_cache.artefact.artefact import to_bytes
from grammar_cache.compile import compile_expression
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Grammar
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.vllm.wire.end_tokens import end_tokens
from server.backends.vllm.wire.held_grammars import HeldGrammars
from server.backends.vllm.wire.mask_requests import KEY, TIGHT, MaskRequest
from tests.expression_matcher import matches
from tests.server.backends.vllm.conftest import MakeEngine
from tests.server.backends.vllm.scheduler.simulation import Modes, made, request
from tests.server.backends.vllm.worker.models import Model, model_of
from tests.server.decoding.trials.trials import FUELS, MODELS, random_grammar, random_vocabulary

MODES: dict[str, Modes] = {"sync": {}, "async": {"asynchronous": True}, "narrow": {"tokens": 5}}


@dataclass(eq=False)
class Text:
    """A text under way. `tight`: what was told of its masks; `reason`: why vLLM has ended it."""

    request: Any
    prompt: list[int]
    ends: Sequence[int]
    output: list[int] = field(default_factory=list)
    sampled: list[int] = field(default_factory=list)
    tight: tuple[int, ...] = ()
    reason: Any = None


class Engine:
    """The loop of vLLM's engine core, which samples when the tokens before are known."""

    def __init__(self, scheduler: Any, model: Model, *, asynchronous: bool = False) -> None:
        self.scheduler, self.model = scheduler, model
        self.depth = 2 if asynchronous else 1
        self.under_way: deque[tuple[Any, Any]] = deque()
        self.texts: dict[str, Text] = {}

    def add(self, text: Text) -> None:
        self.texts[text.request.request_id] = text
        self.scheduler.add_request(text.request)

    def step(self) -> None:
        if self.scheduler.has_requests():
            output = self.scheduler.schedule()
            chunks = {name: self.scheduler.requests[name].is_prefill_chunk for name in output.num_scheduled_tokens}
            if output.pending_structured_output_tokens and self.under_way:
                self.finish()
            self.under_way.append((output, self.sampled(output, chunks)))
            if len(self.under_way) < self.depth and output.total_num_scheduled_tokens:
                return
        if self.under_way:
            self.finish()

    def sampled(self, output: Any, chunks: dict[str, bool]) -> Any:
        """The best tokens that the masks allow, of the texts that are computed to their ends."""
        from vllm.v1.outputs import ModelRunnerOutput

        masks = self.scheduler.get_grammar_bitmask(output)
        of = {} if masks is None else dict(zip(masks.structured_output_request_ids, masks.grammar_bitmask, strict=True))
        names = list(output.num_scheduled_tokens)
        tokens: list[list[int]] = []
        for name in names:
            text = self.texts[name]
            logits = np.nan_to_num(self.model((*text.prompt, *text.sampled)), nan=-1e9, posinf=1e9, neginf=-1e9)
            if name in of:
                allowed = np.unpackbits(of[name].view(np.uint8), count=len(logits), bitorder="little").astype(bool)
                logits = np.where(allowed, logits, -np.inf)
            tokens.append([] if chunks[name] else [int(logits.argmax())])
            text.sampled += tokens[-1]
        return ModelRunnerOutput(names, {name: at for at, name in enumerate(names)}, tokens)

    def finish(self) -> None:
        for those in self.scheduler.update_from_output(*self.under_way.popleft()).values():
            for one in those.outputs:
                text = self.texts[one.request_id]
                text.output += one.new_token_ids
                text.tight = tuple((one.kv_transfer_params or {}).get(TIGHT, ()))
                text.reason = one.finish_reason

    def run(self, steps: int = 600) -> None:
        """Steps until all texts have ended."""
        for _ in range(steps):
            self.step()
            if all(text.reason is not None for text in self.texts.values()):
                break
        for _ in range(3):
            self.step()
        assert all(text.reason is not None for text in self.texts.values())
        assert not (self.scheduler.requests or self.scheduler.running or self.scheduler.masked._texts)


def scheduler_of(grammar: CompiledGrammar, blocks: int = 60, **modes: Any) -> Any:
    """A scheduler whose core holds one grammar, sent as bytes."""
    found = made(blocks + 1, 8, **modes)
    vars(found.masked)["grammars"] = HeldGrammars(grammar.vocabulary)
    limits = {name: getattr(grammar.limits, name) for name in grammar.limits.__dataclass_fields__}
    found.masked.load("g", to_bytes(grammar), limits, {}).result()
    return found


def text_of(name: str, grammar: CompiledGrammar, prompt: list[int], budget: int, key: str = "g") -> Text:
    ends = list(end_tokens(grammar.vocabulary))
    extra = {KEY: MaskRequest(key).to_dict()}
    return Text(request(name, prompt, budget, extra, ends), prompt, ends)


def expected(grammar: CompiledGrammar, text: Text, model: Model, budget: int) -> tuple[list[int], tuple[int, ...]]:
    """Tokens that the masks of a grammar leave of a model's best, an end among them, and the places of tight masks."""
    output, tight, configuration = list[int](), list[int](), grammar.start
    while len(output) < budget and not set(text.ends) & set(output):
        within, free = (grammar.mask(configuration, left).copy() for left in (budget - len(output), None))
        tight += [] if np.array_equal(within, free) else [len(output)]
        within[list(text.ends)] |= not within.any()
        logits = np.nan_to_num(model((*text.prompt, *output)), nan=-1e9, posinf=1e9, neginf=-1e9)
        output.append(int(np.where(within, logits[: len(within)], -np.inf).argmax()))
        if output[-1] not in text.ends:
            configuration = grammar.take(configuration, output[-1])
    return output, tuple(tight)


def trial(number: int, modes: Modes) -> int:
    """Texts of one random grammar in little memory. Returns how many, or 0 for a language without a text."""
    rng = random.Random(number)
    expression: Grammar = random_grammar(rng)
    vocabulary = random_vocabulary(rng)
    if not end_tokens(vocabulary):
        return 0
    try:
        grammar = compile_expression(expression, vocabulary, rng.choice(FUELS))
    except EmptyLanguage:
        return 0
    model = model_of(rng.choice(MODELS), number, grammar, 0)
    engine = Engine(scheduler_of(grammar, rng.choice((30, 60)), **modes), model, asynchronous="asynchronous" in modes)
    budgets: dict[str, int] = {}
    for name in map(str, range(rng.randint(1, 5))):
        prompt = [rng.randrange(vocabulary.size) for _ in range(rng.randint(1, 30))]
        budgets[name] = max(1, grammar.minimum.tokens + rng.randint(0, 12))
        engine.add(text_of(name, grammar, prompt, budgets[name]))
        for _ in range(rng.randint(0, 3)):
            engine.step()
    engine.run()
    for name, text in engine.texts.items():
        output, tight = expected(grammar, text, model, budgets[name])
        assert (text.output, text.tight) == (output, tight)
        content = [token for token in output if token not in text.ends]
        assert len(output) <= budgets[name]
        assert matches(expression, vocabulary.text(content))
    return len(budgets)


@pytest.mark.parametrize("mode", MODES)
def test_answers_are_those_that_masks_leave(make_engine: MakeEngine, mode: str) -> None:
    """Random grammars, hostile models, from the least budget on, many at once: complete, in budget, as alone."""
    assert sum(trial(number, MODES[mode]) for number in range(60)) > 60


@pytest.mark.full
@pytest.mark.parametrize("mode", MODES)
def test_many_answers_are_those_that_masks_leave(make_engine: MakeEngine, mode: str) -> None:
    """Runs the quick test some hundred times."""
    assert sum(trial(number, MODES[mode]) for number in range(60, 900)) > 900


GRAMMAR = compile_grammar(Constraint("regex", "[a-c]{3,30}"), Vocabulary([b"a", b"b", b"c", None], [3]))


def first(text: tuple[int, ...]) -> Any:
    """A model that likes the first tokens best."""
    return np.array([3.0, 2.0, 1.0, 0.0], np.float32)


@pytest.mark.parametrize("mode", MODES)
def test_a_request_that_cannot_begin_fails_alone(make_engine: MakeEngine, mode: str) -> None:
    """Requests of an unknown grammar, of arguments that can't be read, and of a budget that is too small."""
    from vllm.v1.engine import FinishReason

    engine = Engine(scheduler_of(GRAMMAR, **MODES[mode]), first, asynchronous=mode == "async")
    engine.add(text_of("good", GRAMMAR, [1], 8))
    engine.add(text_of("unknown", GRAMMAR, [1], 8, "h"))
    engine.add(text_of("small", GRAMMAR, [1], 2))
    engine.add(Text(request("bad", [1], 8, {KEY: {"grammar": 3}}, [3]), [1], [3]))
    engine.run()
    failed = [name for name, text in engine.texts.items() if text.reason is FinishReason.ERROR]
    assert failed == ["unknown", "small", "bad"]
    assert engine.texts["good"].output == [0] * 8


def test_a_token_outside_the_mask_fails_its_request(make_engine: MakeEngine) -> None:
    """A sampler that draws what the mask forbids, as other processors of logits may have it, ends the request."""
    from vllm.v1.engine import FinishReason

    engine = Engine(scheduler_of(GRAMMAR), first)
    engine.add(text_of("r", GRAMMAR, [1], 8))
    engine.scheduler.get_grammar_bitmask = lambda output: None
    engine.model = lambda text: np.array([0.0, 0.0, 0.0, 9.0], np.float32)
    engine.run()
    assert engine.texts["r"].reason is FinishReason.ERROR


@pytest.mark.parametrize("method", ["certificate", "commit"])
def test_a_fault_at_the_end_of_an_answer_fails_its_request(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """No exception reaches vLLM's scheduler, where it would end the engine; others go on."""
    from vllm.v1.engine import FinishReason

    def broken(*tokens: object) -> None:
        raise MemoryError

    engine = Engine(scheduler_of(GRAMMAR), first)
    for name in "ab":
        engine.add(text_of(name, GRAMMAR, [1], 4))
    engine.step()
    monkeypatch.setattr(engine.scheduler.masked._texts["a"], method, broken)
    engine.run()
    assert engine.texts["a"].reason is FinishReason.ERROR
    assert (engine.texts["b"].output, engine.texts["b"].reason) == ([0] * 4, FinishReason.LENGTH)


def test_who_is_given_up_is_forgotten(make_engine: MakeEngine) -> None:
    """One request, or all of them; others go on."""
    from vllm.v1.request import RequestStatus

    engine = Engine(scheduler_of(GRAMMAR), first)
    for name in "abc":
        engine.add(text_of(name, GRAMMAR, [1], 20))
    engine.step()
    for names, left in (("a", {"b", "c"}), (["b"], {"c"}), (None, set())):
        engine.scheduler.finish_requests(names, RequestStatus.FINISHED_ABORTED)
        engine.step()
        assert set(engine.scheduler.masked._texts) == left


def test_the_engine_core_takes_the_calls(make_engine: MakeEngine) -> None:
    """Methods that the front end calls by name are the core's; a grammar comes, is exchanged and goes."""
    from vllm.v1.engine.core import EngineCore

    scheduler = scheduler_of(GRAMMAR)
    core = type("Core", (), {name: vars(EngineCore)[name] for name in ("drop_grammar", "exchange_claims")})()
    core.scheduler = scheduler
    assert core.exchange_claims(["g", "gone"], {}) == {"g": {}}
    assert core.drop_grammar("g") == core.drop_grammar("g") == {}
    assert "load_grammar" in vars(EngineCore)
    assert not scheduler.masked.grammars.grammars


def test_vllms_core_is_as_it_was_read(make_engine: MakeEngine) -> None:
    """Requests come to the scheduler from the loop of steps; calls are looked up by name and may be answered later."""
    import inspect

    from vllm.v1.engine.core import EngineCore, EngineCoreProc

    assert "self.scheduler.add_request(request)" in inspect.getsource(EngineCore.add_request)
    source = inspect.getsource(EngineCoreProc)
    assert "getattr(self, method_name)" in source
    assert "isinstance(result, Future)" in source
