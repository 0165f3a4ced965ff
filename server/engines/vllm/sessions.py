"""Texts that vLLM keeps between steps: requests with streaming input (`vllm.engine.protocol.StreamingInput`).

Each chunk asks for one token, which vLLM samples and then forgets, since the next chunk says what follows instead.
What counts are the log-probabilities that come with it: those of the row as the filter left it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from itertools import count

from vllm import SamplingParams
from vllm.engine.protocol import StreamingInput
from vllm.exceptions import VLLMClientError
from vllm.inputs.engine import tokens_input
from vllm.outputs import RequestOutput
from vllm.sampling_params import RequestOutputKind
from vllm.v1.engine.async_llm import AsyncLLM
from vllm.v1.engine.exceptions import EngineDeadError
from vllm.v1.engine.output_processor import RequestOutputCollector

from server.decoding.parameters import Parameters
from server.engines.contract import EngineError
from server.engines.vllm.forks import BEGINS_AS
from server.engines.vllm.requests import KEY, RowRequest
from server.engines.vllm.tree import LogProbabilities

_numbers = count(1)


class VllmSession:
    """See `Session`; made by `SessionOpener`."""

    def __init__(self, llm: AsyncLLM, most: int) -> None:
        self.most = most
        self.chunks: asyncio.Queue[list[int]] = asyncio.Queue()
        self.outputs: RequestOutputCollector | None = None
        self._llm = llm

    def extend(self, tokens: Sequence[int]) -> None:
        self.chunks.put_nowait(list(tokens))  # vLLM keeps the list and goes on writing it

    async def inputs(self) -> AsyncGenerator[StreamingInput]:
        """What vLLM reads from."""
        while True:
            yield StreamingInput(tokens_input(await self.chunks.get()))

    async def after(self) -> LogProbabilities:
        assert self.outputs is not None, "a session is opened before it is asked"
        try:
            output = await self.outputs.get()
        except EngineDeadError as error:
            raise EngineError("the engine has ended during this request") from error
        except Exception as error:  # the queue hands over whatever went wrong inside
            raise EngineError(f"the engine failed this request: {error}") from error
        return _log_probabilities(output)

    async def close(self) -> None:
        assert self.outputs is not None, "a session is opened before it is closed"
        self.outputs.close()
        await self._llm.abort(self.outputs.request_id, internal=True)


class SessionOpener:
    """See `Opener`: sessions of one answer, whose rows the filter treats alike."""

    def __init__(self, llm: AsyncLLM, grammar: str | None, prompt_tokens: int, parameters: Parameters) -> None:
        """`grammar`: the key that the workers know it by. The parameters have a seed."""
        self._llm = llm
        self._row = RowRequest.of("", grammar, prompt_tokens, parameters)

    async def __call__(self, tokens: Sequence[int], most: int, parent: VllmSession | None) -> VllmSession:
        name = f"swyb-beam-{next(_numbers)}"
        session = VllmSession(self._llm, most)
        session.extend(tokens)
        extra: dict[str, object] = {KEY: replace(self._row, request=name).to_dict()}
        if parent is not None and parent.outputs is not None:
            extra[BEGINS_AS] = parent.outputs.request_id
        sampling = SamplingParams(
            temperature=0.0,
            max_tokens=1,
            ignore_eos=True,
            detokenize=False,
            output_kind=RequestOutputKind.DELTA,
            logprobs=most,
            flat_logprobs=True,
            extra_args=extra,
        )
        try:
            session.outputs = await self._llm.add_request(name, session.inputs(), sampling)
        except (EngineDeadError, VLLMClientError) as error:
            raise EngineError(f"the engine refused this request: {error}") from error
        return session


def _log_probabilities(output: RequestOutput) -> LogProbabilities:
    [completion] = output.outputs
    if not completion.token_ids or completion.logprobs is None:
        raise EngineError(f"the engine has given up this request ({completion.finish_reason})")
    return dict(zip(completion.logprobs.token_ids, completion.logprobs.logprobs, strict=True))
