"""`swyb serve`: the server, from the model's folder to a clean end.

A function imports what needs numba or FastAPI, which take seconds to load: help needs none of it.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from server.commands.warm_list import check_names, listed
from server.console.backends import backend_of, check_engine, engine_name
from server.console.models import MODEL, hub_name, model_folder
from server.console.options import report, with_store
from server.console.parser import examples
from server.options.command_line import add_options
from server.options.option import options_of
from server.options.readers import path
from server.options.shown import shown
from server.options.sources import FILE, Configuration, configured
from server.settings import VLLM_RUNNING, EngineName, Settings

if TYPE_CHECKING:  # all else is loaded when it runs: texts of help are there at once
    from server.service import Service

API_KEY_VARIABLE = "SWYB_API_KEY"
_EXAMPLE_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "population": {"type": "integer"}},
    "required": ["city", "population"],
    "additionalProperties": False,
}


def add_arguments(parser: ArgumentParser) -> None:
    """Adds the options of all settings. Each is a variable and a key of a file too, which is told once."""
    parser.description = (
        "Serve a model over HTTP. Each option is an environment variable too, SWYB_MAX_TOKENS for\n"
        "--max-tokens, and a key of the YAML file that --config names, max_tokens. A flag goes before a\n"
        "variable, a variable before the file."
    )
    parser.add_argument("--config", type=path, metavar="FILE", help=f"settings, as YAML (default: ${FILE}, or none)")
    parser.add_argument(
        "--print-config",
        action="store_true",
        help="print the settings that hold, where each comes from, and no secret; and end (default: serve)",
    )
    add_options(parser, options_of(Settings))
    examples(
        parser,
        "swyb serve --port 8000",
        "swyb serve --model Qwen/Qwen2.5-Coder-1.5B-Instruct --warm sql",
        "swyb serve --config swyb.yaml --print-config",
        "swyb serve --engine vllm --model FOLDER -- --tensor-parallel-size 2",
    )


def configuration(arguments: Namespace) -> Configuration[Settings]:
    """Settings as the command line, the environment and the file say. Raises OSError, ValueError."""
    named = os.environ.get(FILE)
    file = arguments.config or (Path(named) if named else None)
    return configured(Settings(), list(options_of(Settings)), arguments, file, strict=True)


def settings_of(wanted: Configuration[Settings], engine: EngineName) -> Settings:
    """Settings with all that is worked out: what depends on the engine, the store, the model's name, grammars to warm.

    Raises ValueError for what the engine hasn't, OSError for a file that can't be read.
    """
    settings = wanted.settings
    if engine == "vllm" and "prefix_cache" in wanted.origins:
        raise ValueError("--prefix-cache is for transformers; vLLM has --no-enable-prefix-caching, behind --")
    if engine == "vllm" and "running" not in wanted.origins:
        settings = replace(settings, running=VLLM_RUNNING)
    return replace(
        with_store(settings),
        name=settings.name or hub_name(settings.model),
        warm=tuple(grammar for name in settings.warm for grammar in listed(str(name))),
    )


def run(arguments: Namespace) -> int:
    """Serves until SIGINT, SIGTERM or a failure of the engine; returns what `serving.serve` does."""
    wanted = configuration(arguments)
    engine = engine_name(wanted.settings)
    settings = settings_of(wanted, engine)
    check_engine(engine)
    _check_operation(settings)
    check_names(settings, offline=arguments.print_config)
    if arguments.print_config:
        if settings.model is not None and hub_name(settings.model) is None:
            model_folder(settings, MODEL)
        as_written = replace(settings, warm=wanted.settings.warm, store_secret=wanted.settings.store_secret)
        print(shown(replace(wanted, settings=as_written)))
        return 0
    from server.grammars.opening import check_store

    check_store(settings)
    folder = model_folder(settings, MODEL)
    try:
        listening = listening_on(settings.host, settings.port)
    except OSError as error:
        raise ValueError(f"can't listen on {settings.host}:{settings.port}: {error.strerror}") from error
    with listening:
        return _serve(settings, folder, listening)


def _check_operation(settings: Settings) -> None:
    """Raises OSError or ValueError for keys that can't be read, ValueError for a store that can't be, and for metrics
    that ask for a key where there is none; RuntimeError where packages for traces are missing.
    """
    from grammar_cache.store.opening import check_address
    from server.access.key_file import read_keys
    from server.telemetry.traces import check_traces

    if settings.store is not None:
        check_address(settings.store, settings.store_secret)
    if settings.telemetry.metrics == "key" and not settings.asks_for_key:
        raise ValueError("--metrics key asks for a key, and there is none: --api-key or --keys names one")
    if settings.keys is not None:
        read_keys(settings.keys)
    if settings.telemetry.traces is not None:
        check_traces()


def listening_on(host: str, port: int) -> socket.socket:
    """Takes the port before the model is loaded, so that a port in use is told at once. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP: only then asyncio sends what is small at once. Else clients wait 40 ms behind an answer's headers.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError:
        listening.close()
        raise
    return listening


def _serve(settings: Settings, folder: Path, listening: socket.socket) -> int:
    from grammar_cache.warm_up import warm_up, warm_up_beside
    from server.commands.serving import serve
    from server.console.loops import compile_missing_loops

    compile_missing_loops()
    report(f"swyb: loading {folder}")
    backend = backend_of(settings, folder, settings)
    warm_up(backend.model.vocabulary)  # before anybody is told that it is ready
    warm_up_beside(backend.model.vocabulary)
    return serve(settings, backend, listening, partial(tell, listening))


def tell(listening: socket.socket, service: Service) -> None:
    """Tells people where it listens, and a line to try, which names this machine."""
    host, port = listening.getsockname()[:2]
    report(f"swyb: {service.model.name} is ready at {address(host, port)}. Try:\n")
    print(example(address(reachable(host), port), service.model.name, keyed=service.settings.asks_for_key))
    sys.stdout.flush()


def address(host: str, port: int) -> str:
    """Address of a server that listens there."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def reachable(host: str) -> str:
    """Host that a client on this machine names to reach a server which listens on that one: all of them are none."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


def example(base: str, model: str, *, keyed: bool) -> str:
    """A curl line that asks for a small certified answer."""
    body = {
        "model": model,
        "max_tokens": 32,
        "temperature": 0,
        "messages": [{"role": "user", "content": "Name a large city in JSON: city, population."}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "city", "schema": _EXAMPLE_SCHEMA},
        },
    }
    key = f' -H "Authorization: Bearer ${API_KEY_VARIABLE}"' if keyed else ""
    return (
        f"curl {base}/v1/chat/completions -H 'Content-Type: application/json'{key} -d {shlex.quote(json.dumps(body))}"
    )
