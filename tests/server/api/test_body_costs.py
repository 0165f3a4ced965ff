"""No body of 8 MB costs the server more than a second of processor time, or 200 MB of memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.server.api.bodies import PLACES, VALUES, body, some
from tests.server.api.measured_process import Measured, measured
from tests.server.running import JSON

SIZE = 8_000_000
SECONDS = 1.0
BYTES = 200 << 20
QUICK = (
    ("ones", "messages"),
    ("empty objects", "metadata"),
    ("members", "swyb"),
    ("accents", "content"),
    ("prose", "content"),
    ("long texts", "choice"),
)
WHOLE_TRIALS = 400

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="what a process takes is read from /proc, as Linux has it"
)


@pytest.fixture(scope="module")
def server() -> Iterator[Measured]:
    """One server for all of them: what each leaves behind counts for the next."""
    with measured() as found:
        yield found


@pytest.fixture(scope="module")
def idle(server: Measured) -> int:
    """The bytes of a server that has read small requests."""
    for _ in range(20):
        assert server.client.post("/v1/chat/completions", content=body("n", b"1"), headers=JSON).status_code == 200
    return server.bytes


def costs(server: Measured, idle: int, sent: bytes) -> tuple[float, int]:
    """Seconds, and bytes above idle."""
    server.forget_peak()
    begun = server.seconds
    answer = server.client.post("/v1/chat/completions", content=sent, headers=JSON)
    assert answer.status_code < 500
    return server.seconds - begun, server.peak_bytes - idle


@pytest.mark.parametrize(("shape", "place"), QUICK)
def test_known_shapes(server: Measured, idle: int, shape: str, place: str) -> None:
    """Shapes that were the worst, or that clients send by mistake."""
    seconds, size = costs(server, idle, body(place, VALUES[shape](SIZE)))
    assert size < BYTES, f"{size >> 20} MB"
    assert seconds < SECONDS, f"{seconds} s"


def test_what_a_body_took_is_given_back(server: Measured, idle: int) -> None:
    """One after the other take no more than one: a text with an emoji has 4 bytes a character while it is read."""
    sizes = [costs(server, idle, body("content", VALUES["one emoji"](SIZE)))[1] >> 20 for _ in range(8)]
    assert max(sizes) < 140, sizes


@pytest.mark.full
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place or "body")
def test_every_shape_in_every_place(server: Measured, idle: int, place: str) -> None:
    """Each of 8 MB, one after the other on one server."""
    found = {shape: costs(server, idle, body(place, make(SIZE))) for shape, make in VALUES.items()}
    print(place or "body", "seconds", max((cost[0], shape) for shape, cost in found.items()))
    print(place or "body", "MB", max((cost[1] >> 20, shape) for shape, cost in found.items()))
    assert not {shape: cost for shape, cost in found.items() if cost[0] >= SECONDS or cost[1] >= BYTES}


@pytest.mark.full
@pytest.mark.timeout(1_800)
def test_random_bodies(server: Measured, idle: int) -> None:
    """Places and shapes by chance, two at a time in some, of sizes that no constraint may have up to the limit."""
    worst = (0.0, ""), (0, "")
    for seed in range(WHOLE_TRIALS):
        name, sent = some(seed, 1_200_000 + seed * (SIZE - 1_200_000) // WHOLE_TRIALS)
        seconds, size = costs(server, idle, sent)
        worst = max(worst[0], (seconds, name)), max(worst[1], (size >> 20, name))
        assert seconds < SECONDS and size < BYTES, (name, seconds, size >> 20)
    print(worst)
