"""vLLM's own options go to vLLM; what the server sets or can't keep is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.backends.vllm.conftest import MakeEngine

FOLDER = Path("/models/some")


@pytest.fixture
def args(make_engine: MakeEngine) -> Callable[..., Any]:
    """The engine arguments for some options."""
    from server.backends.vllm.frontend.options import engine_args

    return lambda *options: engine_args(FOLDER, options)


def test_options_are_passed_on(args: Callable[..., Any]) -> None:
    found = args("--tensor-parallel-size", "2", "--max-model-len", "8k", "--no-enable-prefix-caching", "--seed", "5")
    assert (found.tensor_parallel_size, found.max_model_len, found.enable_prefix_caching) == (2, 8000, False)
    assert (found.model, found.seed, found.skip_tokenizer_init) == (str(FOLDER), 5, True)


def test_what_the_server_sets(args: Callable[..., Any]) -> None:
    """The filter and the extension are there, under names that lead to them; unseeded answers differ by start."""
    from importlib import import_module

    found, other = args(), args()
    assert found.seed != other.seed
    module, name = found.logits_processors[0].split(":")
    assert callable(getattr(import_module(module), name))
    module, _, name = found.worker_cls.rpartition(".")
    assert {"execute_model", "init_device"} <= set(dir(getattr(import_module(module), name)))
    module, _, name = found.worker_extension_cls.rpartition(".")
    assert {"load_grammar", "drop_grammar"} <= set(dir(getattr(import_module(module), name)))


def test_processors_of_others_come_before_the_filter(args: Callable[..., Any]) -> None:
    """Searches see what other processors leave; beside drafts, vLLM has no processors."""
    assert args("--logits-processors", "a:B").logits_processors == ["a:B", *args().logits_processors]
    for options in (
        ("--speculative-config", '{"method": "ngram", "num_speculative_tokens": 2}'),
        ("--spec-method", "ngram", "--spec-tokens", "3"),
    ):
        assert not args(*options).logits_processors


@pytest.mark.parametrize(
    "options",
    [
        ("--model", "other"),
        ("--tokenizer", "other"),
        ("--worker-extension-cls", "a.B"),
        ("--scheduler-cls", "a.B"),
        ("--worker_cls", "a.B"),
        ("--structured-outputs-config", '{"backend": "xgrammar"}'),
        ("--runner", "pooling"),
        ("--enable-trace-replay",),
        ("--enable-batch-sharded-sampling",),
        ("--watermark-config", "{}"),
        ("--enable-fault-tolerance",),
        ("--generation-config", "auto"),
        ("--nnodes", "2"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(args: Callable[..., Any], options: tuple[str, ...]) -> None:
    """An option that can't be kept is refused even where its value is vLLM's default."""
    name = options[0].split(".")[0].replace("_", "-")
    with pytest.raises(ValueError, match=f"{name} is refused: ") as refused:
        args(*options)
    assert len(str(refused.value)) > len(f"{name} is refused: ")


def test_every_refusal_is_of_an_option_that_there_is(args: Callable[..., Any]) -> None:
    """vLLM renames options: a refusal of none would refuse nothing."""
    from dataclasses import fields

    from server.backends.vllm.frontend.options import REFUSED

    assert set(REFUSED) <= {field.name for field in fields(args())}


@pytest.mark.parametrize("options", [("--no-such-option",), ("--max-model-len", "many"), ("text",)])
def test_options_that_vllm_does_not_have(args: Callable[..., Any], options: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="vLLM's options, after the --"):
        args(*options)
