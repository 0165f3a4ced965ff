"""One start of vLLM's engine with its processes, from loading the model to their end."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

from vllm import SamplingParams
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.exceptions import VLLMClientError
from vllm.inputs.engine import tokens_input
from vllm.outputs import RequestOutput
from vllm.v1.engine.async_llm import AsyncLLM
from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError

from grammar_cache.grammar import CompiledGrammar
from grammar_cache.offline.tabled_grammar import TabledGrammar
from grammar_cache.unique_items.unique_items_grammar import UniqueItemsGrammar
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.backend import SHUTTING_DOWN, DoesNotFit, Piece, Work, first_work
from server.backends.vllm.frontend.capacity import Capacity, Kinds, Room, room_for
from server.backends.vllm.frontend.loading import LoadedGrammars
from server.backends.vllm.frontend.logprobs import told
from server.backends.vllm.frontend.reading import searched
from server.backends.vllm.frontend.sampling import is_searched, sampling_params, search_params
from server.backends.vllm.frontend.transcript import Ended, Transcript
from server.backends.vllm.wire.mask_requests import TIGHT
from server.decoding.answer import Answer
from server.decoding.forced_text import ForcedText
from server.decoding.language import AnyText
from server.decoding.parameters import Parameters
from server.engines.contract import EngineError
from server.interrupts import Interrupted, Interrupts

LOADED_GRAMMARS = 64
"""Kept in the workers for the next request, beside those in use."""

HEARTBEAT_SECONDS = 0.1

STEP_SECONDS = 300.0
"""A step of beams that takes longer has failed; long prompts of others may be in it."""

SHUTDOWN_SECONDS = 20
"""Seconds until processes that don't end by themselves are killed."""


class Instance:
    """Made by `opened`; one event loop uses it."""

    def __init__(self, llm: AsyncLLM, vocabulary: Vocabulary) -> None:
        self.context_window: int = llm.model_config.max_model_len
        self._llm = llm
        self._vocabulary = vocabulary
        self._in_core = LoadedGrammars(self._call_core, LOADED_GRAMMARS)
        self._in_workers = LoadedGrammars(self._call_workers, LOADED_GRAMMARS)
        self._ids = count(1)
        self._ended = asyncio.Event()
        self._waits = Interrupts()
        self._asked: set[str] = set()
        self._finishing: asyncio.Task[None] | None = None
        self._any_text = AnyText(vocabulary)
        cache = llm.vllm_config.cache_config
        self._memory: Kinds = ((cache.block_size, None),)
        # One block is vLLM's own.
        self._capacity = Capacity(Room(cache.num_gpu_blocks - 1, llm.vllm_config.scheduler_config.max_num_seqs))

    @property
    def searches(self) -> bool:
        """Whether workers search: where drafts are verified there is no place for it."""
        return self._llm.vllm_config.speculative_config is None

    @property
    def kv_usage(self) -> float:
        """Share of the KV blocks that is given out, by what requests may need at most."""
        return self._capacity.usage

    @property
    def failed(self) -> bool:
        """Whether the engine has ended by itself."""
        return bool(self._llm.errored)

    def check(self, parameters: Parameters, prompt_tokens: int) -> None:
        """Raises DoesNotFit for searches that can't be held."""
        if is_searched(parameters):
            self._capacity.check(self._room(parameters, prompt_tokens))

    async def run(self, work: Work) -> AsyncGenerator[Piece | Answer]:
        """Decodes as `Backend.run` says. Raises DoesNotFit for searches that can't be held."""
        need = self._room(work.parameters, len(work.prompt))
        async with AsyncExitStack() as held:
            try:
                async with self._waits.scope():
                    await held.enter_async_context(self._capacity.taken(need, firm=is_searched(work.parameters)))
                    key = await held.enter_async_context(self._key(work))
            except Interrupted:
                yield Transcript(work, self._vocabulary).interrupted(Ended("shutdown", SHUTTING_DOWN))
                return
            events = await held.enter_async_context(aclosing(self._decoded(work, key)))
            async for event in events:
                yield event

    async def look_at_memory(self) -> None:
        """Asks what kinds of memory texts take; before the first of them. Raises EngineError."""
        [kinds] = await self._call_core("kinds_of_memory")
        self._memory = [(tokens, most) for tokens, most in kinds]

    def finish(self) -> None:
        """Ends answers as `Backend.finish` says."""
        self._waits.fire()
        self._finishing = asyncio.create_task(self._give_up_all())

    async def _give_up_all(self) -> None:
        """The engine tells with its last output what it has of an answer."""
        while not self.failed:
            with suppress(EngineDeadError):  # who waits for it is told so
                await self._llm.abort(list(self._asked))
            await asyncio.sleep(HEARTBEAT_SECONDS)  # some may have been on their way

    def _room(self, parameters: Parameters, prompt_tokens: int) -> Room:
        beams = parameters.beam_width if is_searched(parameters) else None
        return room_for(prompt_tokens + parameters.budget, beams, self._memory)

    def _decoded(self, work: Work, key: str | None) -> AsyncGenerator[Piece | Answer]:
        if not is_searched(work.parameters):
            return self._followed(work, key)
        work = replace(work, parameters=work.parameters.seeded())
        return searched(work, work.grammar or self._any_text, partial(self._news, work, key), STEP_SECONDS)

    async def _news(self, work: Work, key: str | None, begun: tuple[int, ...]) -> AsyncGenerator[dict[str, Any] | None]:
        """News of a search whose answers all begin with some tokens."""
        name = f"swyb-{next(self._ids)}"
        params = search_params(work, name, key, begun)
        async with aclosing(self._outputs((*work.prompt, *begun), params, name)) as outputs:
            async for output in outputs:
                yield output.kv_transfer_params

    async def _followed(self, work: Work, key: str | None) -> AsyncGenerator[Piece | Answer]:
        transcript = Transcript(work, self._vocabulary)
        if not transcript.ended:
            try:
                async with aclosing(self._steps(work, key)) as steps:
                    async for output in steps:
                        [completion] = output.outputs
                        tokens = list(completion.token_ids)
                        transcript.add(tokens, told(tokens, completion.logprobs, work.parameters.logprobs or 0))
                        transcript.note_tight((output.kv_transfer_params or {}).get(TIGHT, ()))
                        if text := transcript.news():
                            yield Piece(text, transcript.news_of_logprobs())
                        if transcript.ended:
                            break
            except Ended as ended:
                yield transcript.interrupted(ended)
                return
        yield transcript.answer()

    async def until_ended(self) -> None:
        """Returns when the engine has failed, or was closed."""
        while not self.failed and not self._ended.is_set():
            await asyncio.sleep(HEARTBEAT_SECONDS)
        self._fail_all()

    async def close(self) -> None:
        """Ends what is still under way, and all processes."""
        if self._finishing is not None:
            self._finishing.cancel()
        for grammars in (self._in_core, self._in_workers):
            grammars.close()
        self._fail_all()
        if self._llm.output_handler is not None:
            self._llm.output_handler.cancel()  # it would call its end an error
        await asyncio.to_thread(self._llm.shutdown, SHUTDOWN_SECONDS)

    async def _steps(self, work: Work, key: str | None) -> AsyncGenerator[RequestOutput]:
        """Outputs of a single text, until an end token or the budget ends it. Raises EngineError."""
        params = sampling_params(work, key, self._vocabulary)
        async with aclosing(self._outputs(work.prompt, params, f"swyb-{next(self._ids)}")) as outputs:
            async for output in outputs:
                [completion] = output.outputs
                if completion.finish_reason not in (None, "stop", "length") and self._finishing is None:
                    raise Ended("failure", f"the engine has given up this request ({completion.finish_reason})")
                yield output

    async def _outputs(self, prompt: Sequence[int], params: SamplingParams, name: str) -> AsyncGenerator[RequestOutput]:
        """Outputs of one request. Raises EngineError."""
        self._asked.add(name)
        try:
            # The engine writes into the list that it is given.
            asked = self._llm.generate(tokens_input(list(prompt)), params, name)
            async with aclosing(asked) as outputs:
                async for output in outputs:
                    yield output
                    if self._finishing is not None:
                        raise Ended("shutdown", SHUTTING_DOWN)
        except EngineDeadError as error:
            raise Ended("failure", "the engine has ended during this request") from error
        except (EngineGenerateError, VLLMClientError) as error:
            raise EngineError(f"the engine failed this request: {error}") from error
        finally:
            self._asked.discard(name)

    def _key(self, work: Work) -> AbstractAsyncContextManager[str | None]:
        grammar = work.grammar
        if grammar is None:
            return nullcontext()
        if isinstance(grammar, ForcedText):
            grammar = grammar.grammar  # jumps are taken here; the steps between them are the same
        if type(grammar) not in (CompiledGrammar, TabledGrammar, UniqueItemsGrammar):
            raise EngineError(f"a {type(grammar).__name__} can't be sent to the engine")
        assert isinstance(grammar, CompiledGrammar), "all of them are"
        held = self._in_workers if is_searched(work.parameters) else self._in_core
        return held.loaded(grammar, work.exchange)

    async def _call_workers(self, method: str, *arguments: object) -> Sequence[Any]:
        """A method of the workers, on every rank of every engine, and what the first engine's ranks return.

        Raises EngineError.
        """
        results: Sequence[Any] = await self._called(method, self._llm.collective_rpc(method, args=arguments))
        return results

    async def _call_core(self, method: str, *arguments: object) -> Sequence[Any]:
        """A method of every engine's core, and what the first one returns. Raises EngineError."""
        return [await self._called(method, self._llm.engine_core.call_utility_async(method, *arguments))]

    async def _called(self, method: str, call: Coroutine[Any, Any, Any]) -> Any:
        calling = asyncio.ensure_future(call)
        ending = asyncio.ensure_future(self._ended.wait())  # a dead engine never answers
        try:
            await asyncio.wait({calling, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not calling.done():
                raise EngineError("the engine has ended during this request")
            return calling.result()
        except EngineError:
            raise
        except Exception as error:  # the client tells what the engine raised as a bare Exception
            raise EngineError(f"the engine failed at {method}: {error}") from error
        finally:
            calling.cancel()
            ending.cancel()

    def _fail_all(self) -> None:
        self._ended.set()
        self._llm.output_processor.propagate_error(EngineDeadError())


async def opened(args: Callable[[], AsyncEngineArgs], vocabulary: Vocabulary) -> Instance:
    """Loads the model, in processes of vLLM's own, and warms it up. Raises what vLLM raises, or EngineError.

    Cancelled, it leaves no process.
    """
    opening = asyncio.ensure_future(asyncio.to_thread(lambda: AsyncLLM.from_engine_args(args())))
    try:
        llm = await asyncio.shield(opening)
    except asyncio.CancelledError:
        await _end_opening(opening)
        raise
    instance = Instance(llm, vocabulary)
    try:
        await instance.look_at_memory()
        await _warm_up(instance, await asyncio.to_thread(first_work, vocabulary))
    except BaseException:
        await instance.close()
        raise
    return instance


async def _warm_up(instance: Instance, constrained: Work) -> None:
    works = [replace(constrained, grammar=None), constrained]
    if instance.searches:
        works.append(replace(constrained, parameters=replace(constrained.parameters, beam_width=2)))
    for work in works:
        with suppress(DoesNotFit):  # an engine that is too small for beams tells those who want some
            async with aclosing(instance.run(work)) as events:
                async for _ in events:
                    pass


async def _end_opening(opening: asyncio.Future[AsyncLLM]) -> None:
    """A thread can't be stopped; without its processes it ends by itself."""
    while not opening.done():
        for process in multiprocessing.active_children():
            process.kill()
        await asyncio.wait([opening], timeout=HEARTBEAT_SECONDS)
    if opening.exception() is None:
        await asyncio.to_thread(opening.result().shutdown)
