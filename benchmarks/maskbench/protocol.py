"""The protocol of MaskBench's runner for one schema in one engine.

A schema is compiled once. For each token of each instance the runner takes a mask, then the token, and the time of the
two together counts (TBM). An instance is over at the first token that the mask lacks. `ttfm` here is the time to
compile and to compute the first mask, so that engines which compile lazily are timed alike.

One thing is added: an instance counts as accepted only if the text may also end there. The runner doesn't ask, and
so counts `1` as accepted where only `10` is. `Outcome.unended` says how many instances that changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from jsonschema.exceptions import SchemaError
from referencing.exceptions import Unresolvable

from benchmarks.data import Split
from benchmarks.maskbench.archive import Case, Instance
from benchmarks.peers.peer import Peer, Refused, Session
from benchmarks.schemas.order import in_schema_order

PASSING = "passing"
ORDER = "members in another order"
VALID_REJECTED = "valid rejected"
INVALID_ACCEPTED = "invalid accepted"
REFUSED = "refused"
STATUSES = (PASSING, ORDER, VALID_REJECTED, REFUSED, INVALID_ACCEPTED)
"""Statuses of a schema, from the best to the worst. `ORDER`: all is right once the members of valid instances stand in
the schema's order."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One schema in one engine: its status, why it was refused, and its times.

    `compile_ms`, `ttfm_ms`: milliseconds, the second 0 without an instance; `steps_us`: microseconds of each mask with
    its token; `rejected`, `accepted`: valid and invalid instances with a wrong verdict; `unended`: instances whose
    tokens are all taken, but whose text may not end.
    """

    name: str
    status: str
    reason: str
    compile_ms: float
    ttfm_ms: float
    steps_us: tuple[float, ...]
    rejected: int
    accepted: int
    unended: int


def judge(peer: Peer, case: Case, split: Split) -> Outcome:
    """Goes through all instances of one schema."""
    texts = [split(test.text) for test in case.tests]
    begun = perf_counter()
    try:
        compiled = peer.compile(case.schema)
    except Refused as error:
        return failed(case.name, REFUSED, str(error)[:300])
    compile_ms = (perf_counter() - begun) * 1e3
    steps: list[float] = []
    first = 0.0
    verdicts, unended = [], 0
    for tokens in texts:
        taken, ended, times = _follow(peer.session(compiled), tokens)
        first = first or times[0] / 1e3
        steps += times
        verdicts.append(taken and ended)
        unended += taken and not ended
    wrong = [test for test, accepted in zip(case.tests, verdicts, strict=True) if test.valid is not accepted]
    accepted = sum(not test.valid for test in wrong)
    status = PASSING
    if accepted:
        status = INVALID_ACCEPTED
    elif wrong:
        reordered = all(_accepts_in_order(peer.session(compiled), test, case.schema, split) for test in wrong)
        status = ORDER if reordered else VALID_REJECTED
    rounded = tuple(round(step, 1) for step in steps)
    ttfm_ms = round(compile_ms + first, 3) if texts else 0.0
    return Outcome(
        case.name, status, "", round(compile_ms, 3), ttfm_ms, rounded, len(wrong) - accepted, accepted, unended
    )


def failed(name: str, status: str, reason: str) -> Outcome:
    """Outcome of a schema that the engine doesn't get through."""
    return Outcome(name, status, reason, 0.0, 0.0, (), 0, 0, 0)


def _follow(session: Session, tokens: Sequence[int]) -> tuple[bool, bool, list[float]]:
    """Whether all tokens are taken, whether the text may end then, and microseconds of each step."""
    times: list[float] = []
    for token in tokens:
        begun = perf_counter()
        session.fill()
        taken = session.allows(token) and session.accept(token)
        times.append((perf_counter() - begun) * 1e6)
        if not taken:
            return False, False, times
    return True, session.accepts(), times


def _accepts_in_order(session: Session, test: Instance, schema: str, split: Split) -> bool:
    try:
        text = in_schema_order(test.text, schema)
    except (SchemaError, Unresolvable, ValueError, RecursionError):
        return False  # jsonschema doesn't read the schema, so nothing says what its order is
    taken, ended, _ = _follow(session, split(text))
    return taken and ended
