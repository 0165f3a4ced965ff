"""Backends, as the rest of the server sees them: work in, pieces of text and an answer out.

Two things are one: `EngineLoop`, which decodes in this process over an engine that yields logits, and `VllmBackend`,
whose tokens are chosen where its model runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import StrEnum

from grammar_cache import Limits
from grammar_cache.compile import compile_expression
from grammar_cache.expression import Alt, Bytes, Grammar, Repeat
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.load import Load
from server.decoding.answer import Answer, Interruption
from server.decoding.language import Language
from server.decoding.logprobs import TokenLogprobs
from server.decoding.parameters import Parameters
from server.decoding.tracing.steps import TraceStep
from server.engines.contract import ChatModel, EngineError
from server.grammars.exchange import Exchange

SHUTTING_DOWN = "the server is shutting down"
"""Reason why an answer under way ends, or isn't begun."""


@dataclass(frozen=True, slots=True)
class Work:
    """Work to be decoded; `grammar` None: any text. `parameters.budget` covers the grammar's minimum.

    `exchange`, if there is one, shares what searches find, for a backend whose searches run here. `pieces`: whether
    somebody reads the text as it comes; else the answer alone is waited for. `json`: whether its texts are JSON.
    """

    prompt: tuple[int, ...]
    grammar: Language | None
    parameters: Parameters
    exchange: Exchange | None = None
    pieces: bool = True
    json: bool = False

    def completable(self, reason: Interruption, *, begun: bool) -> bool:
        """Whether an answer that is interrupted is completed at once; else an error tells the client to try again.

        An answer that nobody reads yet, and that the model hasn't `begun`, is better asked for once more. A text
        without a grammar can only be cut, which no failure does.
        """
        return (begun or self.pieces) and (self.grammar is not None or reason == "shutdown")


@dataclass(frozen=True, slots=True)
class Piece:
    """Newly agreed text, whole code points: what the answer begins with, so far as it wasn't told before.

    `logprobs` and `trace`: where they were asked for, of the tokens and steps since the piece before; then the text may
    be empty.
    """

    text: bytes
    logprobs: tuple[TokenLogprobs, ...] = ()
    trace: tuple[TraceStep, ...] = ()


class State(StrEnum):
    """State of a backend. `FAILED` and `STOPPED` are for good."""

    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    FAILED = "failed"
    STOPPED = "stopped"


class Unavailable(EngineError):
    """The request was not begun, because nothing decodes now."""


class DoesNotFit(EngineError):
    """The request needs more memory than the engine has, even if nobody else is there."""


class UnsupportedWork(ValueError):
    """Work that a backend can't decode. `param`: the field of a request to blame."""

    def __init__(self, param: str, message: str) -> None:
        super().__init__(message)
        self.param = param


class Backend(ABC):
    """Runs any number of requests of one model. `start` it once, on the event loop that uses it; `stop` it once."""

    model: ChatModel

    judges_beams = True
    """Whether it is known of beams under a constraint what an unlimited budget would have made of them."""

    @property
    @abstractmethod
    def state(self) -> State:
        """Any thread may ask."""

    @property
    def load(self) -> Load:
        """Load at this moment; any thread may ask."""
        return Load()

    @abstractmethod
    def check(self, parameters: Parameters, prompt_tokens: int) -> None:
        """Raises UnsupportedWork for parameters that `run` would not keep, or DoesNotFit for answers that are too long.

        What isn't known yet may be told as if it were small, and asked again.
        """

    @abstractmethod
    def start(self) -> None:
        """Returns at once; `state` says when requests are answered."""

    @abstractmethod
    def finish(self) -> None:
        """Ends at once what is under way, and what is still brought to `run`; on the event loop that uses it.

        What has begun is completed by its witness, or, without a grammar, cut. What hasn't, and whose pieces nobody
        reads, is Unavailable.
        """

    @abstractmethod
    def stop(self) -> None:
        """Ends what is still under way, and frees everything. Blocks; not to be called on the event loop."""

    @abstractmethod
    def run(self, work: Work) -> AsyncGenerator[Piece | Answer]:
        """Pieces of text as they are agreed, then the answers, best first. Raises EngineError. Closing it cancels.

        The rest of an answer's text comes with it. Where several are wanted there are no pieces, and where nobody reads
        them they may be left out.
        """


def first_work(vocabulary: Vocabulary) -> Work:
    """A tiny answer, decoded before users' so that none of them waits for what is compiled or loaded on first use."""
    words = Alt((Bytes(vocabulary.strings[0]), Bytes(vocabulary.strings[-1])))
    grammar = compile_expression(Grammar({"root": Repeat(words, 1, 2)}, "root"), vocabulary, Limits())
    prompt = (int(vocabulary.token_list[0]),)
    return Work(prompt, grammar, Parameters(budget=grammar.minimum.tokens + 1))
