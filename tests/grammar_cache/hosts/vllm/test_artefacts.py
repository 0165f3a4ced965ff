"""Artefacts that requests bring along: attached by the front end, taken off by the engine core, and sent by vLLM."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest

from grammar_cache import Constraint
from grammar_cache.hosts.conformance.cases import small_vocabulary
from grammar_cache.hosts.vllm.artefacts import attach, detach
from grammar_cache.hosts.vllm.compiler import Compiler
from grammar_cache.hosts.vllm.settings import PluginSettings

SETTINGS = PluginSettings(False, 0.25)


def params(extra: dict[str, Any] | None) -> Any:
    return SimpleNamespace(extra_args=extra)


def test_an_artefact_is_taken_off_once() -> None:
    """Parameters keep what else they have, and nothing of the artefact."""
    for own in (None, {"kv_transfer_params": {"do_remote_decode": True}}):
        given = params(own)
        attach(given, b"abc")
        attach(given, b"abcd")
        assert (detach(given), given.extra_args) == (b"abcd", own)
        assert (detach(given), given.extra_args) == (None, own)


def test_copies_of_parameters_keep_theirs() -> None:
    """Children of a request with `n` share the dictionary: each takes the artefact off its own parameters."""
    parent = params({"other": 1})
    attach(parent, b"abc")
    child = params(parent.extra_args)
    assert detach(parent) == detach(child) == b"abc"


def test_what_a_client_sends_is_no_artefact() -> None:
    """A value by its key that isn't bytes, as JSON has none, is dropped."""
    given = params({"swyb_budget": "abc"})
    assert (detach(given), given.extra_args) == (None, None)
    given = params({"swyb_budget": "abc", "other": 1})
    attach(given, None)
    assert given.extra_args == {"other": 1}


def test_vllm_sends_artefacts_as_they_are() -> None:
    """Parameters with an artefact pass through vLLM's encoder and decoder of messages between its processes."""
    if find_spec("vllm") is None:
        pytest.skip("vLLM is not installed here: make test-vllm does it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that vLLM imports
        from vllm.sampling_params import SamplingParams
        from vllm.v1.serial_utils import MsgpackDecoder, MsgpackEncoder

    given, artefact = SamplingParams(extra_args={"other": 1}), bytes(range(256)) * 5_000
    attach(given, artefact)
    sent = MsgpackDecoder(SamplingParams).decode(MsgpackEncoder().encode(given.clone()))
    assert (detach(sent), sent.extra_args) == (artefact, {"other": 1})


def test_the_engine_core_makes_its_grammar_of_the_artefact(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core compiles nothing, and what workers get of the request has no artefact."""
    if find_spec("vllm") is None:
        pytest.skip("vLLM is not installed here: make test-vllm does it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that vLLM imports
        from vllm.sampling_params import SamplingParams, StructuredOutputsParams

        from grammar_cache.hosts.vllm import compiler, core_hooks

    core = Compiler(small_vocabulary(), SETTINGS)
    certified = Compiler(small_vocabulary(), SETTINGS).certified(Constraint("regex", "(ab|cd)+e"))
    given = SamplingParams(max_tokens=9, structured_outputs=StructuredOutputsParams(regex="(ab|cd)+e"))
    given._all_stop_token_ids = set(core.vocabulary.stop_ids)
    attach(given, certified.artefact)
    monkeypatch.setattr(compiler, "compile_grammar", None)
    manager = object.__new__(core_hooks.CompilingManager)
    manager._closer, manager._compiler, manager.settings = (), core, SETTINGS  # type: ignore[misc]
    manager.vllm_config = SimpleNamespace(model_config=SimpleNamespace(max_model_len=100))
    request = SimpleNamespace(sampling_params=given, max_tokens=9, num_prompt_tokens=5)
    made = manager._create_grammar(request)
    assert made.certificate().min_tokens == certified.minimum.tokens
    assert given.extra_args is None
