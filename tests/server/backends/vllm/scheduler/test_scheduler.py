"""vLLM's own scheduler with the beams it takes together, and workers in miniature that check what memory holds."""

from __future__ import annotations

import inspect
import random
import time
from types import SimpleNamespace
from typing import Any

import pytest

from grammar_cache import Constraint, compile_grammar
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.vllm.frontend.capacity import Room, room_for
from server.decoding.parameters import Parameters
from tests.server.backends.vllm.conftest import MakeEngine
from tests.server.backends.vllm.scheduler.simulation import (
    MODES,
    STEPS,
    Engine,
    Job,
    Modes,
    Workers,
    beams_job,
    jobs_of,
    made,
    plain_job,
    random_jump,
)


def trial(number: int, modes: Modes) -> int:
    """Jobs that come and go as they like, where all have room. Returns how many blocks were copied."""
    rng = random.Random(number)
    grammar = random_jump(rng)
    waiting, whole = jobs_of(rng, grammar), Room(rng.choice((70, 120)), 12)
    scheduler = made(whole.blocks + 1, whole.seats, **modes)
    engine = Engine(scheduler, Workers(grammar), asynchronous=bool(modes.get("asynchronous")))
    running: list[Job] = []
    for _ in range(STEPS):
        running = [job for job in running if not job.ended]
        free = whole
        for job in running:
            free = free.plus(job.room, -1)
        waiting = [job for job in waiting if whole.holds(job.room)]
        if waiting and free.holds(waiting[0].room) and rng.random() < 0.5:
            running.append(waiting.pop(0))
            engine.add(running[-1])
        engine.step()
        if running and rng.random() < 0.02:
            engine.give_up(rng.choice(running))
        if not waiting and all(job.ended for job in running):
            break
    for job in engine.jobs.values():
        if job.given_up:
            continue
        if job.request.sampling_params.extra_args:
            *before, last = job.news
            assert last == {"answers": job.expected}
            assert all(set(news) == {"agreed", "beams"} for news in before)
        else:
            assert job.news == job.expected
    engine.nothing_is_left(whole.blocks)
    return engine.workers.copied


@pytest.mark.parametrize("modes", MODES, ids=["sync", "async", "newer", "narrow"])
def test_answers_are_those_of_the_decoder(make_engine: MakeEngine, modes: Modes) -> None:
    """Groups, plain requests and those who go away; no token is computed from memory that holds another text."""
    assert sum(trial(number, modes) for number in range(30)) > 50


@pytest.mark.full
@pytest.mark.parametrize("modes", MODES, ids=["sync", "async", "newer", "narrow"])
def test_many_answers_are_those_of_the_decoder(make_engine: MakeEngine, modes: Modes) -> None:
    assert sum(trial(number, modes) for number in range(30, 600)) > 1_000


GRAMMAR = compile_grammar(Constraint("regex", "[a-c]{20,30}"), Vocabulary([b"a", b"b", b"c", None], [3]))


def search(name: str = "r", width: int = 4) -> Job:
    job = beams_job(name, GRAMMAR, Parameters(32, width, seed=0))
    assert job is not None
    return job


def begun(steps: int = 6, *, blocks: int = 60, seats: int = 12, **modes: Any) -> tuple[Engine, Job]:
    """A search that has taken some steps."""
    engine = Engine(made(blocks + 1, seats, **modes), Workers(GRAMMAR), asynchronous=bool(modes.get("asynchronous")))
    engine.add(job := search())
    for _ in range(steps):
        engine.step()
    return engine, job


def ended(engine: Engine, job: Job, steps: int = 80) -> Any:
    """The last news."""
    for _ in range(steps):
        engine.step()
        if job.ended:
            return job.news[-1]
    raise AssertionError("the search never ends")


@pytest.mark.parametrize("asynchronous", [False, True])
def test_beams_take_one_step_together(make_engine: MakeEngine, asynchronous: bool) -> None:
    """Beams take as many steps as the search has, whoever forks; most go on as they are. No step is empty but the
    last.
    """
    engine, job = begun(0, asynchronous=asynchronous)
    assert ended(engine, job) == {"answers": job.expected}
    [[tokens, *_]] = job.expected
    assert len(tokens) <= engine.workers.steps <= 32
    assert engine.workers.copied < 2 * engine.workers.steps
    assert engine.empty == 0
    engine.nothing_is_left(60)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("steps", [0, 1, 2, 6])
def test_who_goes_away_takes_all_beams_along(make_engine: MakeEngine, steps: int, asynchronous: bool) -> None:
    """A client that goes away takes all beams along by the id of the first one, even when that beam is gone; one
    request or all of them.
    """
    from vllm.v1.request import RequestStatus

    for ids in ("r-id", ["r-id", "unknown"], None):
        engine, job = begun(steps, asynchronous=asynchronous)
        job.ended = True
        engine.scheduler.finish_requests(ids, RequestStatus.FINISHED_ABORTED)
        engine.nothing_is_left(60)


def test_workers_that_tell_nothing_fail_the_search(make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, job = begun()
    monkeypatch.setattr(engine.workers.searches, "take", dict)
    assert "told nothing" in ended(engine, job)["failure"]
    engine.nothing_is_left(60)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_search_that_cannot_begin_is_told(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch, asynchronous: bool
) -> None:
    """A search that vLLM gives up before its first step ends for the front end too; another goes on."""

    def broken(sampling: Any) -> None:
        raise MemoryError

    engine, other = begun(asynchronous=asynchronous)
    with monkeypatch.context() as patches:
        patches.setattr("server.backends.vllm.scheduler.masked_texts.mask_request_of", broken)
        engine.add(job := search("s"))
    assert ended(engine, job, 10) is None
    assert ended(engine, other) == {"answers": other.expected}
    engine.nothing_is_left(60)


def test_a_search_that_has_failed_in_the_workers(make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, job = begun()
    search = engine.workers.searches._searches["r"]
    monkeypatch.setattr(search, "advance", lambda *rows: search.fail(ValueError("a fault")))
    assert ended(engine, job) == {"failure": "ValueError: a fault"}
    engine.nothing_is_left(60)


def test_a_beam_whose_memory_is_taken_fails_its_search(make_engine: MakeEngine) -> None:
    """Whoever admits more than there is room for; the others go on."""
    engine, _ = begun(4, blocks=30)
    prompt = [0, 1, 2] * 30
    engine.add(plain := plain_job("plain", GRAMMAR, prompt, 20))
    for name in "st":
        engine.add(search(name))
    for _ in range(200):
        engine.step()
    assert plain.news == plain.expected
    searches = [job for name, job in engine.jobs.items() if name != "plain"]
    assert all(job.ended for job in searches)
    failures = [job.news[-1]["failure"] for job in searches if "failure" in job.news[-1]]
    assert failures and all("taken back" in failure for failure in failures)
    engine.nothing_is_left(30)


@pytest.mark.parametrize("modes", MODES, ids=["sync", "async", "newer", "narrow"])
def test_one_text_whose_memory_is_taken_amid_a_step(make_engine: MakeEngine, modes: Modes) -> None:
    """A text that vLLM has forgotten is not gone on from: the search fails, or its answer is the decoder's."""
    grammar = compile_grammar(Constraint("regex", "[a-c]{20,30}"), Vocabulary([b"a", b"b", b"c", None], [3]))
    asynchronous = bool(modes.get("asynchronous"))
    engine = Engine(made(31, 12, **modes), Workers(grammar), asynchronous=asynchronous)
    job = beams_job("r", grammar, Parameters(32, 1, alpha=0.3, seed=0))
    assert job is not None
    engine.add(job)
    for _ in range(5):
        engine.step()
    scheduler = engine.scheduler
    [group] = scheduler._groups.values()
    for _ in range(9):
        if group.step is not None or not asynchronous:
            break
        engine.step()
    [row] = group.rows
    scheduler.running.remove(row)
    scheduler._preempt_request(row, time.monotonic())
    for _ in range(200):
        if job.ended:
            break
        engine.step()
    assert job.news[-1] == {"answers": job.expected} or "taken back" in job.news[-1]["failure"]


def test_more_beams_than_places_fail_their_search(make_engine: MakeEngine) -> None:
    engine, job = begun(0, seats=3)
    assert "places" in ended(engine, job)["failure"]
    engine.nothing_is_left(60)


def test_a_beam_that_vllm_has_ended_fails_its_search(make_engine: MakeEngine) -> None:
    engine, job = begun()
    for row in engine.scheduler._groups["r-id"].rows:
        row.max_tokens = 1
    assert "ended a beam" in ended(engine, job)["failure"]
    engine.nothing_is_left(60)


def test_without_shared_memory_all_is_computed_anew(make_engine: MakeEngine) -> None:
    """Models that have several kinds of memory give the same answers, if slowly."""
    for tokens in (64, 12):
        scheduler = made(121, 12, tokens=tokens)
        for manager in scheduler.kv_cache_manager.coordinator.single_type_managers:
            manager.__class__ = type("Another", (type(manager),), {})
        engine = Engine(scheduler, Workers(GRAMMAR), asynchronous=False)
        engine.add(job := search())
        for _ in range(400):
            engine.step()
        assert job.ended and job.news[-1] == {"answers": job.expected}
        engine.nothing_is_left(120)


@pytest.mark.parametrize("modes", MODES[:3], ids=["sync", "async", "newer"])
@pytest.mark.parametrize("tokens", [12, 24, 70])
def test_without_a_cache_all_is_computed_anew(make_engine: MakeEngine, tokens: int, modes: Modes) -> None:
    """Beams end too where their texts are computed anew, and a step has fewer tokens than these; others with them."""
    scheduler = made(121, 12, tokens=tokens, cached=False, **modes)
    engine = Engine(scheduler, Workers(GRAMMAR), asynchronous=bool(modes.get("asynchronous")))
    jobs = [search("r"), search("s", 2), plain_job("plain", GRAMMAR, [0, 1, 2] * 10, 30)]
    for job in jobs:
        engine.add(job)
    for _ in range(400):
        engine.step()
    assert all(job.ended for job in jobs)
    assert [job.news[-1] for job in jobs[:2]] == [{"answers": job.expected} for job in jobs[:2]]
    assert jobs[2].news == jobs[2].expected
    assert engine.workers.copied == 0
    engine.nothing_is_left(120)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_windows_that_slide_have_memory_of_their_own(make_engine: MakeEngine, asynchronous: bool) -> None:
    """Beams that may have what the front end counts by the engine's kinds of memory are never taken any."""
    from server.backends.vllm.scheduler.calls import kinds_of_memory

    settings: Modes = {"windows": 3, "asynchronous": asynchronous}
    for length in (3 + 32, 3 + 62):
        grammar = GRAMMAR if length == 35 else compile_grammar(Constraint("regex", "[a-c]{40,60}"), GRAMMAR.vocabulary)
        room = room_for(length, 4, kinds_of_memory(SimpleNamespace(scheduler=made(40, 12, **settings))))
        engine = Engine(made(room.blocks + 1, 12, **settings), Workers(grammar), asynchronous=asynchronous)
        job = beams_job("r", grammar, Parameters(length - 3, 4, seed=0))
        assert job is not None
        engine.add(job)
        assert ended(engine, job, 400) == {"answers": job.expected}
        engine.nothing_is_left(room.blocks)


def test_vllms_scheduler_is_as_it_was_read(make_engine: MakeEngine) -> None:
    """Overridden methods of vLLM's scheduler are asked, and a request that is held isn't scheduled."""
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.engine.core import EngineCore
    from vllm.v1.engine.output_processor import RequestState

    source = inspect.getsource(Scheduler)
    assert "self._make_cached_request_data(\n                scheduled_running_reqs," in source
    assert "self._preempt_request(" in source
    assert source.count("num_new_tokens = self._reserve_prefill_lookahead(") == 2
    assert "if self.current_step < request.next_decode_eligible_step:" in source
    core = inspect.getsource(EngineCore)
    assert "self.scheduler.update_from_output(\n            scheduler_output, model_output" in core
    assert "self.scheduler.finish_requests(" in core
    assert "kv_transfer_params" in inspect.signature(RequestState.make_request_output).parameters
