"""The engines behind the peers, where installed: their masks, and answers as their own interfaces give them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest

from grammar_cache import Constraint, Vocabulary
from server.decoding.decoder import Decoder
from server.decoding.parameters import Parameters
from server.evaluation.peers.catalogue import KINDS, interpreter
from server.evaluation.peers.peer import Peer
from server.evaluation.task import Task, Verdict
from tests.cached import EMBEDDED_MODEL, cache_folder, tokenizer_folder
from tests.server.decoding.stepping import advance
from tests.server.engines.scripted import History, Script
from tests.server.engines.scripts import seeded

WORDS = ["".join(letters) for length in (1, 2, 3) for letters in product("ab", repeat=length)]
"""A language in which no byte is ever forced: where one is, engines may insist on the tokenizer's own tokens."""
LISTED = Task(
    "listed",
    (),
    Constraint("regex", "[ab]{1,3}"),
    "",
    lambda text: Verdict(True, text in WORDS),
    forms={"lark": 'start: LETTER LETTER LETTER | LETTER LETTER | LETTER\nLETTER: "a" | "b"'},
)
SCHEMA = '{"enum": ["yes", "no", {"a": [1, true]}, "yes, but"]}'
VALUES = Task("values", (), Constraint("json_schema", SCHEMA), "", lambda text: Verdict(True, True))
QUICK = ("xgrammar", "llguidance")
STRICT = ("syncode",)
"""Engines that leave tokens out that the language has."""


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.from_pretrained(tokenizer_folder(EMBEDDED_MODEL))


@pytest.fixture(
    scope="module", params=[name if name in QUICK else pytest.param(name, marks=pytest.mark.full) for name in KINDS]
)
def peer(request: pytest.FixtureRequest, vocabulary: Vocabulary) -> Iterator[Peer]:
    python = interpreter(request.param, cache_folder() / "peers")
    if python is None:
        pytest.skip(f"{request.param} isn't installed: `make bench` or scripts/install_peers.sh installs it")
    with Peer(KINDS[request.param], python, tokenizer_folder(EMBEDDED_MODEL), vocabulary) as running:
        yield running


def test_masks_are_those_of_a_language_that_can_be_listed(peer: Peer, vocabulary: Vocabulary) -> None:
    letters = {n: data.decode() for n, data in enumerate(vocabulary.token_bytes) if data and set(data) <= set(b"ab")}
    language = peer.compile(LISTED)
    seen = [language.start]
    for configuration in seen:
        text = vocabulary.text(language.text(configuration)).decode()
        expected = [n for n, more in letters.items() if any(word.startswith(text + more) for word in WORDS)]
        mask = set(np.flatnonzero(language.mask(configuration)).tolist())
        allowed = set(expected) | set(vocabulary.stop_ids if text in WORDS else ())
        if peer.kind.name in STRICT:
            assert mask
            assert mask <= allowed
        else:
            assert mask == allowed
        following = np.array([sorted(mask & set(expected))], np.int32)
        seen += language.consume_batch(np.array([configuration], np.int32), following)[0].tolist()
    assert {vocabulary.text(language.text(configuration)).decode() for configuration in seen} == {"", *WORDS}


@pytest.mark.parametrize("budget", [3, 60])
def test_greedy_answers_are_those_of_the_peers_own_interface(peer: Peer, vocabulary: Vocabulary, budget: int) -> None:
    if peer.kind.name not in OWN_LOOPS:
        pytest.skip("its own interface is in another environment")
    script = seeded(vocabulary.size, 11)
    with peer.compile(VALUES) as language:
        decoder = Decoder(language, Parameters(budget=budget))
        history: History = ()
        while decoder.answer is None:
            [unfed] = decoder.wanted.tokens
            history += unfed
            advance(decoder, script(history)[None])
    tokens, complete = OWN_LOOPS[peer.kind.name](vocabulary, script, budget)
    assert decoder.answer.tokens == tokens
    assert decoder.answer.complete == complete


def xgrammar_loop(vocabulary: Vocabulary, script: Script, budget: int) -> tuple[History, bool]:
    """The tokens, and whether the text may end after them."""
    xgrammar = pytest.importorskip("xgrammar")
    tokens = [token or b"" for token in vocabulary.token_bytes]
    info = xgrammar.TokenizerInfo(tokens, vocab_size=vocabulary.size, stop_token_ids=list(vocabulary.stop_ids))
    matcher = xgrammar.GrammarMatcher(xgrammar.GrammarCompiler(info).compile_json_schema(SCHEMA))
    bitmask = xgrammar.allocate_token_bitmask(1, vocabulary.size)
    found: History = ()
    while len(found) < budget:
        matcher.fill_next_token_bitmask(bitmask)
        allowed = np.unpackbits(bitmask.numpy().view(np.uint8)[0], count=vocabulary.size, bitorder="little")
        best = int(np.where(allowed, script(found), -np.inf).argmax())
        assert matcher.accept_token(best)
        if matcher.is_terminated():
            return found, True
        found += (best,)
    return found, bool(matcher.accept_token(vocabulary.stop_ids[0]))


def llguidance_loop(vocabulary: Vocabulary, script: Script, budget: int) -> tuple[History, bool]:
    """Loop of LLGuidance."""
    llguidance = pytest.importorskip("llguidance")
    text = (tokenizer_folder(EMBEDDED_MODEL) / "tokenizer.json").read_text(encoding="utf-8")
    tokenizer = llguidance.LLTokenizer(text, n_vocab=vocabulary.size, eos_token=list(vocabulary.stop_ids))
    matcher = llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_json_schema(SCHEMA))
    found: History = ()
    while len(found) < budget and not matcher.is_stopped():
        allowed = np.frombuffer(matcher.compute_logit_bias(), np.uint8)[: vocabulary.size] > 0
        best = int(np.where(allowed, script(found), -np.inf).argmax())
        if best in vocabulary.stop_ids:
            break
        assert matcher.consume_token(best)
        found += (best,)
    return found, bool(matcher.is_accepting())


OWN_LOOPS: dict[str, Callable[[Vocabulary, Script, int], tuple[History, bool]]] = {
    "xgrammar": xgrammar_loop,
    "llguidance": llguidance_loop,
}
