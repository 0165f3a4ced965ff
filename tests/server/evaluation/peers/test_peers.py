"""Peers: what their processes say, and how answers are decoded with it."""

from __future__ import annotations

import ast
import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from grammar_cache import Constraint, Vocabulary
from grammar_cache.constraint import Kind as Dialect
from server.backends.backend import Work
from server.backends.loop import EngineLoop
from server.decoding.answer import Answer
from server.decoding.decoder import Decoder
from server.decoding.parameters import Parameters
from server.engines.contract import EngineError
from server.evaluation.peers.catalogue import KINDS, WORKERS, Kind, installed, interpreter
from server.evaluation.peers.errors import PeerFailed, PeerRefused
from server.evaluation.peers.guide import Cost
from server.evaluation.peers.language import PeerLanguage
from server.evaluation.peers.limits import Limits
from server.evaluation.peers.peer import Peer, forms
from server.evaluation.task import Task, Verdict
from tests.server.decoding.stepping import advance
from tests.server.engines.scripted import Script, ScriptedEngine
from tests.server.engines.scripts import follow, seeded

WORDS = ("ab", "abc", "b", "cab", "ccc")
SMALL = Vocabulary([b"a", b"b", b"c", b"ab", b"cc", None, b"x"], stop_ids=[7])
QUICK = Limits(load=20.0, compile=0.5, mask=5.0)
FAKE = Kind("words", "numpy", Path(__file__).with_name("word_engine.py"), ("regex",), limits=QUICK)


def task(kind: Dialect, text: str) -> Task:
    return Task("t", (), Constraint(kind, text), "", lambda text: Verdict(True, True))


def decoded(language: PeerLanguage, script: Script, budget: int) -> Answer:
    """A greedy answer."""
    decoder = Decoder(language, Parameters(budget=budget))
    history: tuple[int, ...] = ()
    while decoder.answer is None:
        [unfed] = decoder.wanted.tokens
        history += unfed
        advance(decoder, script(history)[None])
    return decoder.answer


class WordGuide:
    """Words as a peer would guide to them, without a process. `stuck`: texts that it lets nothing follow."""

    def __init__(self, words: Sequence[str], *, tests: bool = False, stuck: bytes | None = None) -> None:
        self.tests = tests
        self.failure: PeerFailed | None = None
        self.cost = Cost()
        self.words = [word.encode() for word in words]
        self.stuck = stuck

    def mask(self, tokens: tuple[int, ...]) -> NDArray[np.uint8]:
        allowed = np.array(self.test(tokens, range(SMALL.size)))
        allowed[list(SMALL.stop_ids)] = self.may_end(tokens)
        return np.packbits(allowed, bitorder="little")

    def test(self, tokens: tuple[int, ...], candidates: Sequence[int]) -> list[bool]:
        text = SMALL.text(tokens)
        texts = [None if text == self.stuck else SMALL.token_bytes[token] for token in candidates]
        return [more is not None and any(w.startswith(text + more) for w in self.words) for more in texts]

    def may_end(self, tokens: tuple[int, ...]) -> bool:
        return SMALL.text(tokens) in self.words

    def close(self) -> None:
        pass


def plain_greedy(words: Sequence[str], script: Script, budget: int) -> tuple[int, ...]:
    """The best allowed token, again and again, with nothing of ours."""
    tokens: tuple[int, ...] = ()
    while len(tokens) < budget:
        text = SMALL.text(tokens)
        following = [
            t
            for t in range(6)
            if (more := SMALL.token_bytes[t]) and any(w.encode().startswith(text + more) for w in words)
        ]
        logits = script(tokens)
        best = max(following + ([7] if text.decode() in words else []), key=lambda t: (logits[t], -t))
        if best == 7:
            break
        tokens += (best,)
    return tokens


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), budget=st.integers(1, 5), tests=st.booleans())
def test_greedy_answers_take_the_best_token_that_the_peer_allows(seed: int, budget: int, tests: bool) -> None:
    """Cut where the budget ends, and told to be incomplete exactly if the peer would not let them end there."""
    script = seeded(SMALL.size, seed)
    answer = decoded(PeerLanguage(SMALL, WordGuide(WORDS, tests=tests)), script, budget)
    assert answer.tokens == plain_greedy(WORDS, script, budget)
    assert answer.complete == (answer.text.decode() in WORDS)
    assert answer.finish_reason == ("stop" if answer.complete else "length")
    assert answer.budget_forced_tokens == 0


@pytest.mark.parametrize("tests", [False, True])
def test_the_whole_vocabulary_is_looked_at_where_the_models_best_are_not_allowed(tests: bool) -> None:
    language = PeerLanguage(SMALL, WordGuide(["cab"], tests=tests))
    decoder = Decoder(language, Parameters(budget=9, candidates=1))
    while decoder.answer is None:
        advance(decoder, follow(SMALL.size, [6] * 9)(())[None])
    assert decoder.answer.text == b"cab"
    assert decoder.answer.complete


@pytest.mark.parametrize("tests", [False, True])
def test_a_dead_end_fails(tests: bool) -> None:
    language = PeerLanguage(SMALL, WordGuide(["cab"], tests=tests, stuck=b"c"))
    with pytest.raises(PeerFailed, match="dead end"):
        decoded(language, follow(SMALL.size, [2, 0, 1]), 9)
    [[stuck]] = language.consume_batch(np.array([language.start], np.int32), np.array([[2]], np.int32))
    with pytest.raises(PeerFailed, match="dead end"):  # whoever wants to complete the text is told the same
        language.witness(int(stuck))


def test_masks_have_end_tokens_where_the_text_may_end_and_only_tokens_of_text() -> None:
    guide = WordGuide(["ab"])
    language = PeerLanguage(SMALL, guide)
    assert np.flatnonzero(language.mask(language.start)).tolist() == [0, 3]
    [[end, none]] = language.consume_batch(np.array([0], np.int32), np.array([[3, 5]], np.int32)).tolist()
    assert np.flatnonzero(language.mask(end)).tolist() == [7]
    assert language.accepts(end)
    assert none < 0
    assert language.text(end) == (3,)


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Peer]:
    with Peer(FAKE, Path(sys.executable), tmp_path, SMALL) as found:
        yield found


def test_a_peer_in_its_own_process_allows_the_same(peer: Peer) -> None:
    script = seeded(SMALL.size, 3)
    with peer.compile(task("regex", "|".join(WORDS))) as language:
        assert decoded(language, script, 5).tokens == plain_greedy(WORDS, script, 5)
        cost = language.cost
    assert cost.masks > 0
    assert cost.mask_ms > 0
    assert peer.label == f"words {np.__version__}"


def test_texts_of_one_grammar_do_not_disturb_each_other(peer: Peer) -> None:
    """Nor does a text that goes back: the decoder may ask for any prefix."""
    one, two = (peer.compile(task("regex", "|".join(WORDS))) for _ in range(2))
    guide = WordGuide(WORDS)
    for language, tokens in [(one, [3, 2]), (two, [1]), (one, [2]), (two, [2, 2]), (one, [3]), (two, [])]:
        configuration = language.start
        for token in tokens:
            configuration = int(
                language.consume_batch(np.array([configuration], np.int32), np.array([[token]], np.int32))[0, 0]
            )
        mask = np.unpackbits(guide.mask(tuple(tokens)), count=SMALL.size, bitorder="little")
        assert language.mask(configuration).tolist() == mask.tolist()


def test_peers_that_test_are_asked_for_candidates_only(tmp_path: Path) -> None:
    with Peer(replace(FAKE, tests=True), Path(sys.executable), tmp_path, SMALL) as peer:
        script = seeded(SMALL.size, 5)
        with peer.compile(task("regex", "|".join(WORDS))) as language:
            assert decoded(language, script, 5).tokens == plain_greedy(WORDS, script, 5)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("refuse", PeerRefused, "regex: NotImplementedError: can't be done, asked 1 times"),
        ("die while compiling", PeerFailed, r"(?s)ended \(3\): .*last words"),
        ("hang while compiling", PeerFailed, r"no reply to 'open' within 0\.5 s"),
    ],
)
def test_what_goes_wrong_while_compiling_is_told_and_not_tried_again(
    peer: Peer, text: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        peer.compile(task("regex", text))
    with pytest.raises(error, match=words):
        peer.compile(replace(task("regex", text), name="another"))
    with peer.compile(task("regex", "ab")) as language:
        assert decoded(language, seeded(SMALL.size, 1), 5).text == b"ab"


def test_a_process_that_dies_fails_one_answer_and_no_other(peer: Peer) -> None:
    with peer.compile(task("regex", "ab")) as good, peer.compile(task("regex", "xa")) as bad:
        assert good.mask(good.start)[0]
        with pytest.raises(PeerFailed, match=r"ended \(4\)") as failed:
            decoded(bad, follow(SMALL.size, [6, 0]), 5)
        with pytest.raises(PeerFailed) as again:
            bad.witness(bad.start)
        assert again.value is failed.value
        assert decoded(good, seeded(SMALL.size, 1), 5).text == b"ab"


def test_a_task_without_a_form_that_the_peer_reads_is_refused(peer: Peer) -> None:
    with pytest.raises(PeerRefused, match="words reads only regex"):
        peer.compile(task("json_schema", "{}"))
    assert forms(task("choice", '["a"]')) == {}
    both = replace(task("gbnf", "root ::= [a]"), forms={"lark": 'start: "a"', "gbnf": 'root ::= "a"'})
    assert forms(both) == {"lark": 'start: "a"', "gbnf": 'root ::= "a"'}


def test_a_peer_that_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    with pytest.raises(PeerFailed, match="can't be loaded: ImportError: no such engine"):
        Peer(FAKE, Path(sys.executable), folder, SMALL).__enter__()


def test_the_servers_loop_decodes_with_a_peer(peer: Peer) -> None:
    async def answers() -> list[Answer | str]:
        loop = EngineLoop(ScriptedEngine(SMALL, follow(SMALL.size, [6, 0])))
        loop.start()
        try:
            return [await answer(loop, text, budget) for text, budget in [("ccc|ab", 1), ("cab", 9), ("xa", 9)]]
        finally:
            loop.stop()

    async def answer(loop: EngineLoop, text: str, budget: int) -> Answer | str:
        with peer.compile(task("regex", text)) as language:
            try:
                events = [event async for event in loop.run(Work((0,), language, Parameters(budget=budget)))]
            except EngineError as error:
                return str(error)
        assert isinstance(events[-1], Answer)
        return events[-1]

    cut, whole, failed = asyncio.run(answers())
    assert isinstance(cut, Answer)
    assert (cut.complete, cut.finish_reason, cut.tokens_used) == (False, "length", 1)
    assert isinstance(whole, Answer)
    assert (whole.text, whole.complete, whole.finish_reason) == (b"cab", True, "stop")
    assert isinstance(failed, str)
    assert "its process ended (4)" in failed


def test_peers_are_found_in_their_own_environments_first(tmp_path: Path) -> None:
    assert set(installed(tmp_path)) <= set(KINDS)
    (tmp_path / "syncode").mkdir()
    assert "syncode" not in installed(tmp_path)
    (tmp_path / "syncode" / "installed").touch()
    assert interpreter("syncode", tmp_path) == tmp_path / "syncode" / "bin" / "python"
    with pytest.raises(ValueError, match="there is no peer 'words'"):
        interpreter("words", tmp_path)


@pytest.mark.parametrize("file", sorted(WORKERS.glob("*.py")), ids=lambda file: file.stem)
def test_workers_import_nothing_of_ours(file: Path) -> None:
    """Workers run where our packages aren't: only the type checker may see them."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    names = {alias.name for node in body if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "." for node in body if isinstance(node, ast.ImportFrom)}
    assert not {name for name in names if name.partition(".")[0] in ("server", "grammar_cache", "")}
    assert file.stem in ("main", "__init__") or file in {kind.file for kind in KINDS.values()}
