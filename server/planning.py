"""Planning of a request in the numbers that decoding works with: the budget, and how tokens are chosen.

Refuses what can't be kept. Knows the protocol's models, what is known of a grammar, and what a backend can decode.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from server.backends.backend import Backend, DoesNotFit, UnsupportedWork, Work
from server.decoding.answer import Answer
from server.decoding.forced_text import ForcedText
from server.decoding.language import Language
from server.decoding.parameters import Parameters, Penalties
from server.engines.contract import ChatModel
from server.grammars.compiled import Certified
from server.protocol.chat import AnswerRequest, ChatRequest, SwybOptions
from server.protocol.errors import ApiError, ErrorCode
from server.thinking.opening import Closer

SEARCH_ALPHA = 0.5
"""α of beams under a constraint: more of their answers are right (docs/explain/evaluation.md)."""

EPSILON = 0.001
"""Least share of the model that a token of a beam under a constraint has, where it isn't the best there."""

TOKEN_BYTES = 3
"""Bytes of a token, about, where it isn't told how many tokens a text has."""
OUTPUT_WEIGHT = 2
"""Weight of a token of an answer beside one of a prompt, where turns are shared (Sheng et al., OSDI 2024)."""

TRACE_BYTES = 1 << 20
"""Bytes of the traces of a request's answers together."""

DEFAULT_TEMPERATURE = 1.0
"""Temperature of a single answer, as with OpenAI; beams are deterministic unless a temperature scales their logits."""


def least_answer(certified: Certified | None) -> int:
    """Fewest tokens of an answer behind a thought; a plain text has one."""
    return certified.minimum.tokens if certified else 1


def budget_for(
    request: AnswerRequest,
    prompt: int,
    window: int,
    default: int,
    certified: Certified | None,
    closer: Closer | None = None,
) -> int:
    """T: the tokens an answer may have, with its thought, if that needs some to be closed.

    Raises ApiError if the prompt or the shortest answer doesn't fit.
    """
    room = window - prompt
    if room <= 0:
        raise ApiError(
            ErrorCode.CONTEXT_LENGTH_EXCEEDED,
            f"the prompt has {prompt} tokens; with an answer, the model can take {window}",
            param=request.prompt_field,
        )
    field, wanted = _wanted(request)
    closing = len(closer.tokens) if closer else 0
    minimum = closing + least_answer(certified) if closer or certified else 0
    budget = min(wanted or max(default, minimum, request.min_tokens or 0), room)
    if budget < (request.min_tokens or 0):
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS,
            f"min_tokens is more than the {budget} tokens that the answer may have",
            param="min_tokens",
        )
    if budget < minimum:
        raise _too_small(certified, minimum, closing, field, budget, limited_by_window=budget == room)
    return budget


def parameters_for(request: AnswerRequest, budget: int, *, constrained: bool) -> Parameters:
    """Raises ApiError for options that contradict each other."""
    options = request.swyb or SwybOptions()
    temperature = request.temperature
    if temperature is None:
        temperature = 0.0 if options.beam_width > 1 else DEFAULT_TEMPERATURE
    searches = constrained and options.beam_width > 1
    alpha = options.alpha
    if alpha is None:
        alpha = SEARCH_ALPHA if searches else 0.0
    parameters = Parameters(
        budget=budget,
        beam_width=options.beam_width,
        answers=(request.n or 1) if options.beam_width > 1 else 1,
        alpha=alpha,
        candidates=options.top_k,
        temperature=temperature,
        top_p=1.0 if request.top_p is None else request.top_p,
        top_k=max(0, request.top_k or 0),
        # Generators take no negative seeds.
        seed=None if request.seed is None else request.seed % (1 << 64),
        # Each token's logits are needed; the tokens are the same.
        jump_forward=options.jump_forward if request.told_logprobs is None or options.jump_forward == "text" else False,
        stops=() if constrained else tuple(stop.encode() for stop in request.stop or ()),
        # What the budget forces is not free: docs/explain/beams.md#near-the-horizon.
        promotion="flat" if searches else "viable",
        softmax="grammar" if searches else "viable",
        keep_greedy=searches,
        epsilon=EPSILON if searches else 0.0,
        min_p=request.min_p or 0.0,
        penalties=_penalties(request),
        stop_ids=() if constrained else tuple(request.stop_token_ids or ()),
        min_tokens=request.min_tokens or 0,
        ignore_end=request.ignore_eos or False,
        logprobs=request.told_logprobs,
        trace_bytes=_trace_bytes(options, request.n or 1),
    )
    _check(parameters, request.n or 1)
    _check_beams(parameters)
    _check_lengths(request, constrained=constrained)
    return parameters


def check_parameters(parameters: Parameters, prompt_tokens: int, backend: Backend) -> None:
    """Raises ApiError for what the backend can't decode."""
    try:
        backend.check(parameters, prompt_tokens)
    except DoesNotFit as error:
        raise ApiError(ErrorCode.MEMORY_EXCEEDED, str(error), param="swyb.beam_width") from error
    except UnsupportedWork as error:
        raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, str(error), param=error.param) from error


def refuses_budget(request: AnswerRequest, backend: Backend) -> bool:
    """Whether an answer that the budget changed is to be an error. Raises ApiError where that won't be known."""
    options = request.swyb or SwybOptions()
    refuses = options.on_budget == "refuse"
    if refuses and options.beam_width > 1 and not backend.judges_beams:
        message = "swyb.on_budget: what the budget changed isn't known of beams where vLLM has them: leave it out"
        raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, message, param="swyb.on_budget")
    return refuses


def language_of(certified: Certified | None, parameters: Parameters, model: ChatModel) -> Language | None:
    """Language of a work; None: any text."""
    if certified is None or parameters.jump_forward != "text":
        return certified.grammar if certified else None
    return ForcedText(certified.grammar, model.split)


def most_of(work: Work) -> int:
    """Tokens that a work is charged for at most, as turns are shared by them."""
    return len(work.prompt) + OUTPUT_WEIGHT * work.parameters.beam_width * work.parameters.budget


def spent_on(work: Work, answer: Answer) -> int:
    """Tokens that a work is charged for once it has answered."""
    rows = 0 if answer.cost is None else answer.cost.rows
    return len(work.prompt) + OUTPUT_WEIGHT * max(rows, answer.tokens_spent)


def told_of(budget: int, size: int) -> int:
    """Tokens, about, of a text of so many bytes that was told before anybody knew how many it had."""
    return min(budget, ceil(size / TOKEN_BYTES))


def works_of(work: Work, answers: int) -> tuple[Work, ...]:
    """Works for so many answers: one search for all of them, or a draw for each."""
    parameters = work.parameters
    if not parameters.samples:
        return (work,)
    if parameters.seed is None:
        return (work,) * answers
    seeds = ((parameters.seed + number) % (1 << 64) for number in range(answers))
    return tuple(replace(work, parameters=replace(parameters, seed=seed)) for seed in seeds)


def _trace_bytes(options: SwybOptions, answers: int) -> int:
    """Room for the trace of one search, or of each of so many drawn answers."""
    if not options.trace:
        return 0
    return TRACE_BYTES if options.beam_width > 1 else TRACE_BYTES // answers


def _check(parameters: Parameters, answers: int) -> None:
    if answers > 1 and not parameters.samples and answers > parameters.beam_width:
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS,
            "greedy answers are all the same: n above 1 needs a temperature, or as many beams (swyb.beam_width)",
            param="n",
        )
    if parameters.samples and parameters.alpha > 0:
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS,
            "swyb.alpha guides beams and greedy answers; tokens drawn with a temperature are not guided: "
            "set temperature to 0 or swyb.beam_width above 1",
            param="swyb.alpha",
        )
    if parameters.samples and parameters.jump_forward == "text":
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS,
            'swyb.jump_forward "text" cuts forced text as the tokenizer does, not as the model would draw it: '
            "set temperature to 0 or swyb.beam_width above 1",
            param="swyb.jump_forward",
        )
    if parameters.logprobs is not None and parameters.jump_forward == "text":
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS,
            'swyb.jump_forward "text" asks nothing of the model where the text is forced, so there are no logprobs: '
            "leave out one of them",
            param="logprobs",
        )


def _check_beams(parameters: Parameters) -> None:
    if parameters.beam_width == 1:
        return
    truncates = "truncates what is drawn from; beams are ranked (swyb.top_k bounds candidates)"
    single = "is for single answers, and beams weigh several against each other: leave out swyb.beam_width"
    asked = {
        "top_p": (parameters.top_p < 1, truncates),
        "top_k": (parameters.top_k > 0, truncates),
        "min_p": (parameters.min_p > 0, truncates),
        "logprobs": (parameters.logprobs is not None, single),
        "min_tokens": (parameters.min_tokens > 0, single),
    }
    for name, (sent, why) in asked.items():
        if sent:
            raise ApiError(ErrorCode.CONFLICTING_PARAMETERS, f"{name} {why}", param=name)


def _check_lengths(request: AnswerRequest, *, constrained: bool) -> None:
    if isinstance(request, ChatRequest) and request.top_logprobs and not request.logprobs:
        raise ApiError(ErrorCode.INVALID_VALUE, "top_logprobs needs logprobs: true", param="top_logprobs")
    if constrained and request.ignore_eos:
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS,
            "ignore_eos would write on behind a complete answer: it is for plain text",
            param="ignore_eos",
        )


def _penalties(request: AnswerRequest) -> Penalties:
    bias = tuple((int(token), bias) for token, bias in (request.logit_bias or {}).items() if bias)
    if request.repeat_last_n == 0:
        return Penalties(bias=bias)
    return Penalties(
        presence=request.presence_penalty or 0.0,
        frequency=request.frequency_penalty or 0.0,
        repetition=1.0 if request.repetition_penalty is None else request.repetition_penalty,
        bias=bias,
        last=request.repeat_last_n or -1,
    )


def _wanted(request: AnswerRequest) -> tuple[str, int | None]:
    """The field that says how long the answer may be, and what it says."""
    old, new = request.max_tokens, request.max_completion_tokens
    if old is not None and new is not None and old != new:
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS,
            "max_tokens and max_completion_tokens are two names of one number, and differ",
            param="max_tokens",
        )
    return ("max_completion_tokens", new) if new is not None else ("max_tokens", old)


def _too_small(
    certified: Certified | None, needed: int, closing: int, field: str, budget: int, *, limited_by_window: bool
) -> ApiError:
    exact = certified is None or certified.minimum.exact
    needs = "needs" if exact else "may need"
    why = f"the context window leaves {budget}" if limited_by_window else f"{field} allows {budget}"
    message = f"a complete answer {needs} {needed} tokens with this model's tokenizer, and {why}"
    if closing:
        message += f'; {closing} of them close its thought: reasoning_effort "none" leaves it out'
    example = {} if certified is None else {"example": certified.witness_text}
    details = {"min_tokens": needed, "exact": exact, "budget": budget, **example}
    return ApiError(ErrorCode.BUDGET_TOO_SMALL, message, param=field, details=details)
