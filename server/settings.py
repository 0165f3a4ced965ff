"""Settings: an operator's decisions, as one immutable value.

Each field that people may set is declared once, here, as an option: its default, its reader, its text of help. The
command line, the environment, the file of `--config` and docs/reference/settings.md are made of that.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from grammar_cache.limits import Limits
from grammar_cache.store.patience import Timing
from server.engines.embedded import NAME
from server.options.option import Option, choice, option, options_within
from server.options.readers import (
    key_value,
    mebibytes,
    origin,
    path,
    port,
    positive,
    seconds,
    switch,
    text,
    wait,
    web_address,
)
from server.tools.forms import FORMS

if TYPE_CHECKING:  # the defaults are told by texts of help, which are there at once
    from server.protocol.grammars import GrammarRequest

LIMITS = Limits(table_bytes=16 << 20)
"""Limits of one grammar, for every command; each of the grammars that a server keeps may fill its tables."""

UnknownFields: TypeAlias = Literal["refuse", "report"]
EngineFailure: TypeAlias = Literal["exit", "stay"]
EngineName: TypeAlias = Literal["transformers", "vllm"]
MetricsAccess: TypeAlias = Literal["open", "key", "off"]
RequestLog: TypeAlias = Literal["stderr", "stdout", "off"]
EngineChoice: TypeAlias = Literal["auto", "transformers", "vllm"]

ENGINE_FAILED = os.EX_SOFTWARE
"""The exit status of a process whose engine can't recover: 70, `EX_SOFTWARE` of sysexits.h."""
VLLM_RUNNING = 256
"""Requests that vLLM decodes together, unless settings say otherwise."""
NO_STORE = "none"
"""Address of no store."""


@dataclass(frozen=True, slots=True)
class Intake:
    """Intake of a server: how much it holds of what has not wholly come, and for how long."""

    connections: int = option(1024, positive, "connections that may be open; more are closed (429)", metavar="N")
    header_seconds: int = option(10, positive, "seconds for a request's headers to come", metavar="S")
    """Seconds from the first byte of the headers on, or from the beginning of the connection."""

    body_seconds: int = option(60, positive, "seconds for a request's body to come", metavar="S")
    bodies: int = option(
        64, positive, "bodies of which only a part may have come; more are turned away (429)", metavar="N"
    )
    """Bodies that come in one piece count in none."""


@dataclass(frozen=True, slots=True)
class TelemetryOptions:
    """Options of what a server tells of its work."""

    metrics: MetricsAccess = choice(
        "open", get_args(MetricsAccess), "/metrics for Prometheus is open, asks for a key, or is not there"
    )
    request_log: RequestLog = choice(
        "stderr", get_args(RequestLog), "where one line of JSON a request goes, without prompts and answers"
    )
    traces: str | None = option(
        None,
        web_address,
        "an OpenTelemetry collector by OTLP, such as http://localhost:4318/v1/traces; needs swyb[otel]",
        metavar="URL",
        secrecy="password within",
    )


STORE_TIMES: Mapping[str, Option] = MappingProxyType(
    {
        name: Option(wait, told, name=f"store_{name}", metavar="X")
        for name, told in (
            ("wait_least", "seconds to wait for an answer, however little it is worth"),
            ("wait_most", "seconds to wait for an answer, however much it is worth"),
            ("wait_share", "of what compiling has cost of late: worth waiting for an answer"),
            ("wait_usual", "seconds to wait for an answer of a store that usually takes so long, or isn't known yet"),
            ("per_byte", "seconds more for each byte of what is there"),
            ("per_entry", "seconds more for each finding that is there"),
            ("write", "seconds for a batch to be written, behind everybody's back"),
            ("lease", "seconds after which who compiles and doesn't say so counts as dead"),
        )
    }
)
"""Options of the fields of `Timing`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Each field says its unit; the limits keep one client from using up what belongs to all."""

    model: Path | None = option(
        None,
        path,
        "a model's folder in Hugging Face format, or its name on the hub as in org/name, which is downloaded where it "
        "isn't yet",
        metavar="DIR|NAME",
        told=f"the embedded {NAME}",
    )
    name: str | None = option(None, text, "the model's name in requests", told="as it is called by --model")
    host: str = option("127.0.0.1", text, "the address to listen on")
    port: int = option(8000, port, "0: any free one")
    api_key: str | None = option(None, key_value, "the key of /v1 requests", metavar="KEY", secrecy="secret")
    """Asked for on every `/v1` route if set."""

    keys: Path | None = option(
        None, path, "keys of /v1 requests, each with a name and limits, read anew when the file changes", metavar="FILE"
    )
    """File of keys beside `api_key`; see `server.access.key_file`."""

    telemetry: TelemetryOptions = field(default_factory=TelemetryOptions)
    tool_form: str | None = choice(
        None, tuple(FORMS), "the form in which the model writes calls of tools", told="the one of its chat template"
    )
    default_max_tokens: int = option(
        1024, positive, "the token budget of requests that name none", name="max_tokens", metavar="T"
    )
    """Tokens of an answer. A constraint that needs more gets what it needs."""

    running: int = option(32, positive, "requests decoded together", metavar="N", told=f"32, with vLLM {VLLM_RUNNING}")
    """Requests that share each model call."""

    waiting: int = option(256, positive, "requests that may wait; more are turned away", metavar="N")
    """Requests in preparation or waiting for a free place; more get a 429."""

    cached_grammars: int = option(
        64, positive, "compiled grammars that are kept in memory", name="grammars", metavar="N"
    )
    prefix_cache_bytes: int = option(
        512 << 20,
        mebibytes,
        "memory of transformers for prompts that later ones begin like; 0: none",
        name="prefix_cache",
        metavar="MIB",
        show=lambda size: size >> 20,
    )
    store: str | None = option(
        None,
        text,
        "where compiled grammars are kept and shared: sqlite:///path, redis://host:port, and others; "
        f"{NO_STORE}: nowhere",
        metavar="ADDRESS",
        secrecy="password within",
        told="a file in the cache folder",
        show=lambda address: address or NO_STORE,
    )
    """Address of a store that replicas share; None: nothing is shared or kept."""

    store_secret_file: Path | None = option(
        None,
        path,
        "the secret that all who share a server's store have; the variable SWYB_STORE_SECRET may hold it itself",
        metavar="FILE",
    )
    store_secret: str | None = option(
        None,
        text,
        "the secret itself, where no file has it",
        secrecy="secret",
        on_command_line=False,
        told="that of an embedded store's own file",
    )
    """Secret that seals and names in the store are made with."""

    store_tenant: str = option("", text, "whose grammars these are", metavar="NAME")
    """Tenant of the store. Others see nothing of this tenant's grammars in the same store."""

    store_timing: Timing = options_within(Timing, STORE_TIMES)
    """Times that a store may take for an answer."""

    warm: tuple[GrammarRequest | str, ...] = option(
        (),
        text,
        "grammars to compile before it is ready: names, or JSON files, each a list of bodies of POST /v1/grammars",
        metavar="FILE|NAME",
        shape="words",
    )
    intake: Intake = field(default_factory=Intake)
    unknown_fields: UnknownFields = choice(
        "refuse",
        get_args(UnknownFields),
        "refuse fields of a request that nobody is known to have, or answer and report them under swyb.ignored; "
        "names that look like a constraint are refused in any case",
    )
    docs: bool = option(True, switch, "/docs and /openapi.json, which need no key")
    playground: bool = option(True, switch, "the page to try the server with, for browsers at / and /playground")
    cors_origins: tuple[str, ...] = option(
        (),
        origin,
        "pages of this origin, such as https://example.org, may read answers in browsers; may be repeated; *: all",
        name="cors_origin",
        metavar="ORIGIN",
        shape="repeated",
    )
    drain_seconds: float = option(
        5,
        seconds,
        "told to end by SIGTERM, it is not ready, but answers new requests for so long",
        metavar="SECONDS",
    )
    shutdown_seconds: float = option(
        10,
        seconds,
        "then it takes no new ones, and answers may go on for so long before they are completed at once",
        metavar="SECONDS",
    )
    on_engine_failure: EngineFailure = choice(
        "exit",
        get_args(EngineFailure),
        f"once the engine can't recover, end with status {ENGINE_FAILED}, or stay and say so under /health",
    )
    engine: EngineChoice = choice(
        "auto",
        get_args(EngineChoice),
        "auto: vllm where it is installed and a GPU is there, else transformers; vLLM's own options follow at the end: "
        "-- --tensor-parallel-size 2",
    )
    engine_options: tuple[str, ...] = option((), str, "options that vLLM has, as they are", shape="passed on")

    body_bytes: int = 8 << 20
    """Bytes of a request body."""

    body_nesting: int = 512
    """Levels of nesting in a request body: above a grammar's (`Limits.nesting`), below Python's stack."""

    body_values: int = 400_000
    """JSON values in a request body, each of which takes up to some hundred bytes of memory."""

    cached_bytes: int = 512 << 20
    """Bytes of all kept grammars together, with what answers have led to and with their caches."""

    compile_threads: int = 2
    """Grammars compiled at the same time."""

    limits: Limits = LIMITS
    """Limits of one grammar."""

    @property
    def asks_for_key(self) -> bool:
        """Whether `/v1` routes ask for a key."""
        return self.api_key is not None or self.keys is not None

    @property
    def reports_unknown(self) -> bool:
        """Whether unknown fields are let through."""
        return self.unknown_fields == "report"
