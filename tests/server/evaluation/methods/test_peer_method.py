"""Peers as methods, with an engine of words in place of a real one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grammar_cache import Constraint
from server.evaluation.methods.peer import PeerMethod
from server.evaluation.methods.spec import spec
from server.evaluation.peers.catalogue import Kind
from server.evaluation.peers.limits import Limits
from server.evaluation.peers.peer import Peer
from server.evaluation.reply import Reply
from server.evaluation.task import Task, Verdict
from tests.server.engines.scripts import follow
from tests.server.evaluation.world import local
from tests.server.running import STOP, VOCABULARY

WORDS = Kind(
    "words", "numpy", Path(__file__).parents[1] / "peers" / "word_engine.py", ("regex",), limits=Limits(20.0, 5.0, 5.0)
)


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    with Peer(WORDS, Path(sys.executable), tmp_path_factory.mktemp("tokenizer"), VOCABULARY) as found:
        yield found


def answer(peer: Peer, constraint: Constraint, budget: int) -> Reply:
    """Answer of a model which wants to say "abcx"."""
    task = Task("t", ({"role": "user", "content": "?"},), constraint, "", lambda text: Verdict(True, True))
    model = local(follow(VOCABULARY.size, tuple(b"abcx"), STOP))
    method = PeerMethod(spec("words"), model, peer)

    async def asked() -> Reply:
        async with model:
            return await method.answer(task, budget, 0)

    return asyncio.run(asked())


def test_it_follows_the_mask_and_ends(peer: Peer) -> None:
    """The model's text as far as the peer lets it; a larger budget would change nothing."""
    reply = answer(peer, Constraint("regex", "abd|abcde|abcy"), 9)
    assert (reply.outcome, reply.text, reply.complete, reply.settled) == ("answered", "abcde", True, True)
    assert reply.compile_ms is not None
    assert reply.min_tokens is None


def test_it_is_cut_by_the_budget(peer: Peer) -> None:
    """A method that plans for no budget is cut by it: the text is what there is, and not settled."""
    reply = answer(peer, Constraint("regex", "abcde"), 3)
    assert (reply.outcome, reply.text, reply.complete, reply.settled) == ("answered", "abc", False, False)


@pytest.mark.parametrize(
    ("constraint", "outcome", "reason"),
    [
        (Constraint("regex", "refuse"), "refused", "can't be done"),
        (Constraint("gbnf", 'root ::= "a"'), "refused", "reads only regex"),
        (Constraint("regex", "die while compiling"), "failed", "last words"),
    ],
)
def test_what_it_refuses_is_settled(peer: Peer, constraint: Constraint, outcome: str, reason: str) -> None:
    """No budget would help, and the next run needn't try."""
    reply = answer(peer, constraint, 9)
    assert (reply.outcome, reply.text, reply.settled) == (outcome, None, True)
    assert reason in reply.reason


def test_settings(peer: Peer) -> None:
    """Distances have none: it has no alpha."""
    with pytest.raises(ValueError, match="no setting 'alpha'"):
        PeerMethod(spec("words:alpha=0.5"), local(), peer)
