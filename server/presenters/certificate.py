"""Certificate and usage of answers, which every interface tells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grammar_cache.grammar import ALGORITHM_VERSION
from server.decoding.answer import Answer, Thought
from server.job import Job
from server.protocol.completion import Certificate, CompletionDetails, ThinkingCertificate, Usage
from server.protocol.errors import ApiError, ErrorCode


def certificate(job: Job, answer: Answer, told: int = 0) -> Certificate:
    """Certificate of this answer, without the first steps of its trace, which were `told`."""
    known, parameters = job.certified, job.parameters
    return Certificate(
        complete=None if known is not None and not answer.complete else answer.complete,
        budget=parameters.budget,
        tokens_used=answer.tokens_spent,
        min_tokens=known.minimum.tokens if known else None,
        exact=known.minimum.exact if known else None,
        budget_forced_tokens=answer.budget_forced_tokens,
        tight_steps=answer.tight_steps,
        budget_affected=answer.budget_affected,
        budget_ended=None if answer.budget_ended is None else list(answer.budget_ended),
        interrupted=answer.interrupted,
        beam_width=parameters.beam_width,
        alpha=parameters.alpha,
        grammar_id=known.grammar_id if known else None,
        table=known.table.name if known and known.table is not None else None,
        distance_version=ALGORITHM_VERSION,
        compile_ms=known.compile_ms if known else None,
        cache=known.source if known else None,
        thinking=_thinking(answer.thought),
        ignored=[*unknown_fields(job.ignored), *(known.ignored if known else ())],
        trace=None if answer.trace is None else list(answer.trace[told:]),
    )


def first_certificate(job: Job, answer: Answer, *, several: bool) -> Certificate:
    """Certificate of a response by its first answer; where there are several, each choice tells its own trace."""
    known = certificate(job, answer)
    return known.model_copy(update={"trace": None}) if several else known


def unknown_fields(names: Iterable[str]) -> list[str]:
    """Fields that nobody knows, as answers tell what was ignored."""
    return [f"{name}: unknown field" for name in names]


def check_budget(job: Job, number: int, answer: Answer) -> None:
    """Raises ApiError for an answer that the budget may have changed, if the request refuses those. `number`: that of
    its choice.
    """
    if not job.refuses or answer.budget_affected is False:
        return
    known = certificate(job, answer)
    details = {"index": number, "text": answer.text.decode(errors="replace"), "swyb": known.model_dump()}
    message = f"within {known.budget} tokens the answer is, or may be, another one than without a budget"
    raise ApiError(ErrorCode.BUDGET_AFFECTED, message, param="swyb.on_budget", details=details)


def usage(prompt: int, answers: Sequence[Answer]) -> Usage:
    """Usage of answers to prompts that have so many tokens together. A thought that several share counts once."""
    thoughts = {answer.thought for answer in answers if answer.thought is not None}
    reasoning = sum(thought.tokens for thought in thoughts)
    used = reasoning + sum(answer.tokens_used for answer in answers)
    details = CompletionDetails(reasoning_tokens=reasoning) if thoughts else None
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=used,
        total_tokens=prompt + used,
        completion_tokens_details=details,
    )


def _thinking(thought: Thought | None) -> ThinkingCertificate | None:
    if thought is None:
        return None
    return ThinkingCertificate(
        tokens=thought.tokens, closed_by_budget=thought.closed_by_budget, reserve=thought.reserve
    )
