"""vLLM's engine options: what the operator passes on, what the server sets itself, and what it refuses by name."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.utils.argparse_utils import FlexibleArgumentParser

from server.backends.vllm.frontend.thoughts import parser_marks
from server.engines.thought_marks import ThoughtMarks

FILTER = "server.backends.vllm.worker.filter:BudgetFilter"
EXTENSION = "server.backends.vllm.worker.extension.GrammarWorker"
WORKER = "server.backends.vllm.worker.worker.SearchingWorker"
SCHEDULER = "server.backends.vllm.scheduler.scheduler.scheduler"

_OURS = "the server sets it itself"
_CHOOSES = "the server chooses the tokens, and this would choose others"
_GENERATES = "the server generates text, and nothing else"
_CONSTRAINS = "constraints are the server's own"
_ONE_FRONT_END = "the server runs in front of all of them; several nodes are for --distributed-executor-backend ray"

REFUSED: Mapping[str, str] = {
    "model": "say --model DIR before the --",
    "served_model_name": "say --name before the --",
    **dict.fromkeys(("tokenizer", "tokenizer_mode", "tokenizer_revision", "skip_tokenizer_init"), _OURS),
    **dict.fromkeys(("worker_cls", "worker_extension_cls", "scheduler_cls"), _OURS),
    "disable_log_stats": _OURS,
    **dict.fromkeys(("generation_config", "override_generation_config"), _OURS),
    **dict.fromkeys(("watermark_config", "diffusion_config", "enable_trace_replay"), _CHOOSES),
    "enable_batch_sharded_sampling": "every rank has to see the whole batch",
    **dict.fromkeys(("structured_outputs_config", "reasoning_config"), _CONSTRAINS),
    **dict.fromkeys(("runner", "convert", "pooler_config", "io_processor_plugin"), _GENERATES),
    **dict.fromkeys(("enable_fault_tolerance", "fault_tolerance_config"), "a failed engine is started anew as a whole"),
    **dict.fromkeys(("max_num_queued_reqs", "max_num_queued_tokens"), "say --waiting before the --"),
    **dict.fromkeys(("nnodes", "node_rank"), _ONE_FRONT_END),
}
"""Options that are refused, by vLLM's names of them, with the reason."""


_DRAFTING = ("speculative_config", "spec_method", "spec_model", "spec_tokens")


class _Parser(FlexibleArgumentParser):  # type: ignore[misc]
    """Complains by an exception."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"vLLM's options, after the --: {message}")


def thought_marks(folder: Path, options: Sequence[str]) -> ThoughtMarks | None:
    """Marks of thoughts that `--reasoning-parser` stands for, if it is there. Raises ValueError."""
    given = AsyncEngineArgs.add_cli_args(_Parser()).parse_args(list(options))
    name, plugin = given.reasoning_parser, given.reasoning_parser_plugin
    return parser_marks(folder, name, plugin) if name else None


def engine_args(folder: Path, options: Sequence[str]) -> AsyncEngineArgs:
    """Arguments of vLLM's engine for a model's folder. Raises ValueError for options that can't be kept."""
    parser = AsyncEngineArgs.add_cli_args(_Parser(prog="swyb serve --engine vllm --"))
    defaults = {name: parser.get_default(name) for name in REFUSED}
    absent = object()
    parser.set_defaults(**dict.fromkeys(REFUSED, absent), seed=secrets.randbits(31))
    given = parser.parse_args(list(options))
    for name, reason in REFUSED.items():
        if getattr(given, name) is not absent:
            raise ValueError(f"--{name.replace('_', '-')} is refused: {reason}")
        setattr(given, name, defaults[name])
    given.model = str(folder)
    given.skip_tokenizer_init = True
    given.reasoning_parser = given.reasoning_parser_plugin = ""  # the server splits thoughts from answers
    if all(getattr(given, name) is None for name in _DRAFTING):  # beside drafts vLLM has no processors of logits
        given.logits_processors = [*(given.logits_processors or ()), FILTER]
    given.worker_extension_cls = EXTENSION
    given.worker_cls = WORKER
    given.scheduler_cls = SCHEDULER
    given.disable_log_stats = True
    given.generation_config = "vllm"  # no sampling parameters but a request's
    return AsyncEngineArgs.from_cli_args(given)
