"""Gate of vLLM's front end, by itself: what it knows of a request, and how long compiling holds up streams."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest

from grammar_cache import Vocabulary
from grammar_cache.hosts.conformance.cases import small_vocabulary
from grammar_cache.hosts.vllm.compiler import Compiler
from grammar_cache.hosts.vllm.settings import PluginSettings
from tests.grammar_cache.dialects.structural_tags.formats import TOOLS

SETTINGS = PluginSettings(False, 0.25)


@pytest.fixture
def hooks() -> Iterator[Any]:
    """The module; what it has changed of the interpreter is undone."""
    if find_spec("vllm") is None:
        pytest.skip("vLLM is not installed here: make test-vllm does it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that vLLM imports
        from grammar_cache.hosts.vllm import frontend_hooks
    before = sys.getswitchinterval()
    yield frontend_hooks
    sys.setswitchinterval(before)


@pytest.fixture
def gate(hooks: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A gate whose processor has a tokenizer."""
    return gate_for(hooks, monkeypatch, small_vocabulary())


def gate_for(hooks: Any, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary, closer: tuple[int, ...] = ()) -> Any:
    """A gate for a tokenizer with this vocabulary, and a model whose thoughts end so."""
    monkeypatch.setattr(Compiler, "of", lambda *_: Compiler(vocabulary, SETTINGS))
    model = SimpleNamespace(skip_tokenizer_init=False, try_get_generation_config=dict)
    config = SimpleNamespace(model_config=model, kv_transfer_config=None)
    config.reasoning_config = SimpleNamespace(reasoning_end_token_ids=closer)
    config.structured_outputs_config = SimpleNamespace(reasoning_parser="some", enable_in_reasoning=False)
    made = hooks.Gate(SETTINGS)
    made.begin(SimpleNamespace(vllm_config=config, tokenizer=None))
    return made


def test_the_event_loop_waits_for_compiling_threads_a_short_time(hooks: Any, gate: Any) -> None:
    """The interpreter changes threads at least so often once something may be compiled."""
    assert gate.compiler is not None
    assert sys.getswitchinterval() <= hooks.SWITCH_SECONDS


def test_certified_requests_know_their_grammar(hooks: Any, gate: Any) -> None:
    """Within its minimum a request gets the artefact of which the engine core makes its grammar; with less an error."""
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams

    outputs = StructuredOutputsParams(regex="(ab|cd)+e")
    least = gate.certify(SamplingParams(structured_outputs=outputs)).minimum.tokens
    certified = gate.certify(SamplingParams(max_tokens=least, structured_outputs=outputs))
    core = Compiler(small_vocabulary(), SETTINGS)
    grammar = core.grammar(hooks.constraint_of(outputs), certified.artefact)
    assert grammar.minimum == certified.minimum
    with pytest.raises(VLLMValidationError, match=f"at least {least} tokens"):
        gate.certify(SamplingParams(max_tokens=least - 1, structured_outputs=outputs))
    assert gate.certify(SamplingParams(max_tokens=1)) is None


@pytest.mark.parametrize(
    ("grammar", "closer", "refused"),
    [("'a'", (), False), ("'a'", (101,), True), ("<tool_call> 'a' </tool_call>", (), True)],
)
def test_stop_tokens_that_would_cut_are_refused(
    hooks: Any, monkeypatch: pytest.MonkeyPatch, grammar: str, closer: tuple[int, ...], refused: bool
) -> None:
    """A special token ends a request where it stands in an answer or in a thought: it is refused there."""
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams

    gate = gate_for(hooks, monkeypatch, TOOLS, closer)
    outputs = StructuredOutputsParams(grammar="root ::= " + grammar.replace("'", '"'))
    gate.certify(SamplingParams(stop_token_ids=list(TOOLS.stop_ids), structured_outputs=outputs))
    params = SamplingParams(stop_token_ids=[100], structured_outputs=outputs)
    with pytest.raises(VLLMValidationError, match="stop_token_ids") if refused else nullcontext():
        assert not gate.certify(params).special
