"""Settings: an operator's decisions, as one immutable value. Reads neither the environment nor the command line."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from grammar_cache.limits import Limits
from grammar_cache.store.patience import Timing
from server.access.options import AccessOptions
from server.telemetry.options import TelemetryOptions

if TYPE_CHECKING:  # the defaults are told by texts of help, which are there at once
    from server.protocol.grammars import GrammarRequest

LIMITS = Limits(table_bytes=16 << 20)
"""Limits of one grammar, for every command; each of the grammars that a server keeps may fill its tables."""


@dataclass(frozen=True, slots=True)
class Intake:
    """Intake of a server: how much it holds of what has not wholly come, and for how long."""

    connections: int = 1024
    """Connections that are open; more are told so and closed (429)."""

    header_seconds: int = 10
    """Seconds for the headers of a request to come, from its first byte on or from the connection's beginning."""

    body_seconds: int = 60
    """Seconds for a request's body to come."""

    bodies: int = 64
    """Bodies of which a part has come; more are turned away (429). What comes in one piece counts in none."""


UnknownFields: TypeAlias = Literal["refuse", "report"]
EngineFailure: TypeAlias = Literal["exit", "stay"]
ENGINE_FAILED = os.EX_SOFTWARE
"""The exit status of a process whose engine can't recover: 70, `EX_SOFTWARE` of sysexits.h."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Each field says its unit; the limits keep one client from using up what belongs to all."""

    host: str = "127.0.0.1"
    port: int = 8000
    """0: any free port."""

    model: Path | None = None
    """A folder in Hugging Face format; None: the embedded model."""

    name: str | None = None
    """The model's name in requests; None: the folder's."""

    api_key: str | None = field(default=None, repr=False)
    """Asked for on every `/v1` route if set."""

    access: AccessOptions = field(default_factory=AccessOptions)

    telemetry: TelemetryOptions = field(default_factory=TelemetryOptions)

    default_max_tokens: int = 1024
    """Tokens of an answer whose request names no number. A constraint that needs more gets what it needs."""

    running: int = 32
    """Requests decoded at the same time; they share each model call."""

    waiting: int = 256
    """Requests in preparation or waiting for a free place; more are turned away (429)."""

    body_bytes: int = 8 << 20
    """Bytes of a request body."""

    body_nesting: int = 512
    """Levels of nesting in a request body: above a grammar's (`Limits.nesting`), below Python's stack."""

    body_values: int = 400_000
    """JSON values in a request body, each of which takes up to some hundred bytes of memory."""

    intake: Intake = field(default_factory=Intake)

    unknown_fields: UnknownFields = "refuse"
    """Action on fields of a request that nobody is known to have: a 400, or a line under `swyb.ignored` of the answer.
    Names that look like a constraint are refused in any case.
    """

    docs: bool = True
    """Whether `/docs` and `/openapi.json` are there, which need no key."""

    cors_origins: tuple[str, ...] = ()
    """Origins of pages that browsers let read the answers; `*`: all. Without one, browsers let none."""

    cached_grammars: int = 64
    """Compiled grammars kept for the next request."""

    cached_bytes: int = 512 << 20
    """Bytes of all kept grammars together, with what answers have led to and with their caches."""

    prefix_cache_bytes: int = 512 << 20
    """Memory of the engine for prompts that later ones may begin like; 0: none are kept."""

    tool_form: str | None = None
    """Form in which the model writes calls of tools (`server.tools.forms.FORMS`); None: its chat template's."""

    compile_threads: int = 2
    """Grammars compiled at the same time."""

    store: str | None = field(default=None, repr=False)
    """The address of a store that replicas share, which may hold a password; None: nothing is shared or kept."""

    store_secret: str | None = field(default=None, repr=False)
    """Secret that seals and names in the store are made with; None: that of an embedded store's own file."""

    store_tenant: str = ""
    """Tenant of the store. Others see nothing of this tenant's grammars in the same store."""

    warm: tuple[GrammarRequest | str, ...] = ()
    """Grammars that are compiled before any request is answered: to register, or by name."""

    store_timing: Timing = field(default_factory=Timing)
    """Times that a store may take for an answer."""

    drain_seconds: float = 5
    """Seconds for which a server that was told to end says that it isn't ready, and still answers new requests."""

    shutdown_seconds: float = 10
    """Seconds for which answers may go on after that; then their witnesses complete them."""

    on_engine_failure: EngineFailure = "exit"
    """Action of the process once its engine can't recover."""

    limits: Limits = LIMITS
    """Limits of one grammar."""

    @property
    def asks_for_key(self) -> bool:
        """Whether `/v1` routes ask for a key."""
        return self.api_key is not None or self.access.keys is not None

    @property
    def reports_unknown(self) -> bool:
        """Whether unknown fields are let through."""
        return self.unknown_fields == "report"
