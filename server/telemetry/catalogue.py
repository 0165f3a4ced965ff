"""Catalogue of the metrics that a server has: their names, kinds, labels and buckets, each once.

Names that other servers have are theirs behind our prefix: those of vLLM for requests, those of SGLang for grammars.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]

PREFIX = "swyb:"
MODEL = "model_name"
"""Label of every metric: the one model's name, which the operator gives."""

SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 120.0, 300.0)
TOKEN_SECONDS = (0.001, 0.003, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.5)
TOKENS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000)
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric. `name`: without the prefix, of a counter without `_total`. `like`: the server that names it so."""

    name: str
    kind: Kind
    about: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    like: Literal["vLLM", "SGLang", ""] = ""

    @property
    def exposed(self) -> str:
        """Name of the metric in queries; a histogram's samples add `_bucket`, `_sum` and `_count`."""
        return f"{PREFIX}{self.name}_total" if self.kind == "counter" else f"{PREFIX}{self.name}"


METRICS = (
    Metric(
        "num_requests_running", "gauge", "Works that are decoded: a draw, or a search for several answers", like="vLLM"
    ),
    Metric("num_requests_waiting", "gauge", "Works that wait for their turn", like="vLLM"),
    Metric(
        "answers_admitted",
        "gauge",
        "Answers in preparation, waiting or running: what `--waiting` and `--running` bound",
    ),
    Metric("queue_usage_perc", "gauge", "Share of the places for answers that is taken, 0 to 1: what to scale by"),
    Metric("kv_cache_usage_perc", "gauge", "Share of the KV cache that is given out, 0 to 1; with vLLM", like="vLLM"),
    Metric("kv_cache_tokens", "gauge", "Tokens whose keys and values are held for texts under way; with transformers"),
    Metric("beams_alive", "gauge", "Texts under way, of all works; with vLLM at most so many"),
    Metric("prompt_tokens", "counter", "Tokens of prompts", like="vLLM"),
    Metric("generation_tokens", "counter", "Tokens of answers, each with its thought", like="vLLM"),
    Metric(
        "request_success",
        "counter",
        "Answers by their end: stop, length, abort, error",
        ("finished_reason",),
        like="vLLM",
    ),
    Metric(
        "time_to_first_token_seconds",
        "histogram",
        "From a request's head to its first token",
        buckets=SECONDS,
        like="vLLM",
    ),
    Metric(
        "request_time_per_output_token_seconds",
        "histogram",
        "Mean time between the tokens of a request",
        buckets=TOKEN_SECONDS,
        like="vLLM",
    ),
    Metric(
        "e2e_request_latency_seconds",
        "histogram",
        "From a request's head to its last byte",
        buckets=SECONDS,
        like="vLLM",
    ),
    Metric("request_queue_time_seconds", "histogram", "Wait for a turn", buckets=SECONDS, like="vLLM"),
    Metric(
        "request_prefill_time_seconds", "histogram", "From the turn to the first token", buckets=SECONDS, like="vLLM"
    ),
    Metric(
        "request_decode_time_seconds",
        "histogram",
        "From the first token to the last answer",
        buckets=SECONDS,
        like="vLLM",
    ),
    Metric("request_prompt_tokens", "histogram", "Tokens of a request's prompts", buckets=TOKENS, like="vLLM"),
    Metric("request_generation_tokens", "histogram", "Tokens of an answer", buckets=TOKENS, like="vLLM"),
    Metric("request_params_n", "histogram", "Answers that a request wants", buckets=COUNTS, like="vLLM"),
    Metric("request_params_max_tokens", "histogram", "Budget of an answer", buckets=TOKENS, like="vLLM"),
    Metric("request_params_beam_width", "histogram", "Beams of a work", buckets=COUNTS),
    Metric("http_requests", "counter", "HTTP requests by route and status", ("route", "status")),
    Metric("request_errors", "counter", "Errors that were told, by their code", ("code",)),
    Metric("requests_limited", "counter", "Requests turned away, by limit", ("limit",)),
    Metric("num_grammar", "counter", "Requests under a constraint", like="SGLang"),
    Metric("num_grammar_cache_hit", "counter", "Requests whose grammar was here", like="SGLang"),
    Metric("num_grammar_store_hit", "counter", "Requests whose grammar came from the store"),
    Metric("num_grammar_aborted", "counter", "Requests whose grammar was refused, or given up", like="SGLang"),
    Metric(
        "grammar_compilation_time_seconds",
        "histogram",
        "Compiling of a grammar, or loading it from the store",
        buckets=SECONDS,
        like="SGLang",
    ),
    Metric("grammars_cached", "gauge", "Compiled grammars that are kept"),
    Metric("grammars_cached_bytes", "gauge", "Bytes that kept grammars hold"),
    Metric(
        "budgets_refused",
        "counter",
        "Requests refused because their budget is too small, or changed the answer",
        ("code",),
    ),
    Metric("minimum_tokens", "histogram", "Fewest tokens of a complete answer", buckets=TOKENS),
    Metric("budget_slack_tokens", "histogram", "Tokens of the budget that an answer has left", buckets=(0, *TOKENS)),
    Metric("budget_affected", "counter", "Answers under a constraint: whether the budget changed them", ("affected",)),
    Metric("budget_forced_tokens", "counter", "Tokens that the budget chose"),
    Metric("jumped_tokens", "counter", "Tokens that the grammar alone chose, without the model; with transformers"),
    Metric("searches", "counter", "Searches for distances while decoding; with transformers"),
    Metric("search_fuel", "counter", "Trie nodes that those searches visited"),
    Metric("search_seconds", "counter", "Time of those searches"),
    Metric(
        "step_seconds",
        "histogram",
        "A decoding step of all requests, by part: model, constraint, search; with transformers",
        ("part",),
    ),
    Metric("store_events", "counter", "Calls of the store and what became of them", ("event",)),
    Metric("store_latency_seconds", "gauge", "Time that an answer of the store takes, of late"),
    Metric("store_breaker_open", "gauge", "Whether the store is left alone after failures", ("operation",)),
    Metric("key_requests", "counter", "Requests by the key's name", ("key",)),
    Metric("key_tokens", "counter", "Tokens by the key's name: prompt, generation", ("key", "kind")),
    Metric(
        "key_file_stale", "gauge", "Whether the file of keys has changed and can't be read: the keys before it stand"
    ),
)
