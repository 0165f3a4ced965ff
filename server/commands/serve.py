"""`swyb serve`: the server, from the model's folder to a clean end.

A function imports what needs numba or FastAPI, which take seconds to load: help needs none of it.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from server.commands.warm_list import check_names, listed
from server.console.backends import EngineName, add_engine, backend_of, check_engine, engine_name
from server.console.intake import add_intake, intake_of
from server.console.models import MODEL, add_model, hub_name, model_folder
from server.console.operating import access_of, add_operating, telemetry_of
from server.console.options import add_store, port, positive, report, seconds, store_options, whole
from server.console.parser import examples
from server.settings import ENGINE_FAILED, EngineFailure, Settings
from server.tools.forms import FORMS

if TYPE_CHECKING:  # all else is loaded when it runs: texts of help are there at once
    from server.service import Service

API_KEY_VARIABLE = "SWYB_API_KEY"
DRAIN_VARIABLE, SHUTDOWN_VARIABLE = "SWYB_DRAIN_SECONDS", "SWYB_SHUTDOWN_SECONDS"
ENGINE_FAILURE_VARIABLE = "SWYB_ON_ENGINE_FAILURE"
VLLM_RUNNING = 256
_EXAMPLE_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "population": {"type": "integer"}},
    "required": ["city", "population"],
    "additionalProperties": False,
}


def add_arguments(parser: ArgumentParser) -> None:
    default = Settings()
    add_model(parser)
    parser.add_argument("--name", help="the model's name in requests (default: as it is called by --model)")
    parser.add_argument("--host", default=default.host, help="the address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=port, default=default.port, help="0: any free one (default: %(default)s)")
    parser.add_argument("--api-key", metavar="KEY", help=f"the key of /v1 requests (default: ${API_KEY_VARIABLE})")
    parser.add_argument(
        "--tool-form",
        choices=tuple(FORMS),
        help="the form in which the model writes calls of tools (default: the one of its chat template)",
    )
    _add_limits(parser, default)
    add_store(parser)
    parser.add_argument(
        "--warm",
        nargs="+",
        default=[],
        metavar="FILE|NAME",
        help="grammars to compile before it is ready: names, or JSON files, each a list of bodies of POST /v1/grammars "
        "(default: none)",
    )
    add_operating(parser)
    add_intake(parser)
    _add_end(parser)
    add_engine(parser)
    examples(
        parser,
        "swyb serve --port 8000",
        "swyb serve --model Qwen/Qwen2.5-Coder-1.5B-Instruct --warm sql",
        "swyb serve --engine vllm --model FOLDER -- --tensor-parallel-size 2",
    )


def _add_limits(parser: ArgumentParser, default: Settings) -> None:
    parser.add_argument(
        "--max-tokens",
        type=positive,
        metavar="T",
        default=default.default_max_tokens,
        help="the token budget of requests that name none (default: %(default)s)",
    )
    parser.add_argument(
        "--running",
        type=positive,
        metavar="N",
        help=f"requests decoded together (default: {default.running}, with vLLM {VLLM_RUNNING})",
    )
    parser.add_argument(
        "--waiting",
        type=positive,
        metavar="N",
        default=default.waiting,
        help="requests that may wait; more are turned away (default: %(default)s)",
    )
    parser.add_argument(
        "--grammars",
        type=positive,
        metavar="N",
        default=default.cached_grammars,
        help="compiled grammars that are kept in memory (default: %(default)s)",
    )
    parser.add_argument(
        "--prefix-cache",
        type=whole,
        metavar="MIB",
        help="memory of transformers for prompts that later ones begin like; 0: none "
        f"(default: {default.prefix_cache_bytes >> 20})",
    )


def _add_end(parser: ArgumentParser) -> None:
    """Adds the options of the server's end. A default that is a text is read as if it stood on the command line."""
    default, given = Settings(), os.environ.get
    parser.add_argument(
        "--drain-seconds",
        type=seconds,
        default=given(DRAIN_VARIABLE) or default.drain_seconds,
        metavar="SECONDS",
        help="told to end by SIGTERM, it is not ready, but answers new requests for so long "
        f"(default: ${DRAIN_VARIABLE}, or {default.drain_seconds:g})",
    )
    parser.add_argument(
        "--shutdown-seconds",
        type=seconds,
        default=given(SHUTDOWN_VARIABLE) or default.shutdown_seconds,
        metavar="SECONDS",
        help="then it takes no new ones, and answers may go on for so long before they are completed at once "
        f"(default: ${SHUTDOWN_VARIABLE}, or {default.shutdown_seconds:g})",
    )
    parser.add_argument(
        "--on-engine-failure",
        type=engine_failure,
        default=given(ENGINE_FAILURE_VARIABLE) or default.on_engine_failure,
        metavar="|".join(get_args(EngineFailure)),
        help=f"once the engine can't recover, end with status {ENGINE_FAILED}, or stay and say so under /health "
        f"(default: ${ENGINE_FAILURE_VARIABLE}, or {default.on_engine_failure})",
    )


def engine_failure(text: str) -> str:
    """Value of `Settings.on_engine_failure`, read from a text."""
    if text not in get_args(EngineFailure):
        raise ArgumentTypeError(f"{text!r} is none of {', '.join(get_args(EngineFailure))}")
    return text


def settings_of(arguments: Namespace, engine: EngineName) -> Settings:
    """The settings that the command line and the environment ask for. Raises ValueError for what the engine hasn't."""
    default = Settings()
    if engine == "vllm" and arguments.prefix_cache is not None:
        raise ValueError("--prefix-cache is for transformers; vLLM has --no-enable-prefix-caching, behind --")
    prefix_cache = default.prefix_cache_bytes if arguments.prefix_cache is None else arguments.prefix_cache << 20
    settings = Settings(
        host=arguments.host,
        port=arguments.port,
        model=arguments.model,
        name=arguments.name or hub_name(arguments.model),
        tool_form=arguments.tool_form,
        api_key=arguments.api_key or os.environ.get(API_KEY_VARIABLE) or None,
        access=access_of(arguments),
        telemetry=telemetry_of(arguments),
        default_max_tokens=arguments.max_tokens,
        running=arguments.running or (VLLM_RUNNING if engine == "vllm" else default.running),
        waiting=arguments.waiting,
        intake=intake_of(arguments),
        unknown_fields=arguments.unknown_fields,
        docs=not arguments.no_docs,
        cors_origins=tuple(arguments.cors_origin),
        cached_grammars=arguments.grammars,
        prefix_cache_bytes=prefix_cache,
        drain_seconds=arguments.drain_seconds,
        shutdown_seconds=arguments.shutdown_seconds,
        on_engine_failure=arguments.on_engine_failure,
        warm=tuple(grammar for wanted in arguments.warm for grammar in listed(wanted)),
    )
    return store_options(arguments).settings(settings)


def run(arguments: Namespace) -> int:
    """Serves until SIGINT, SIGTERM or a failure of the engine; returns what `serving.serve` does."""
    engine = engine_name(arguments)
    check_engine(engine)
    settings = settings_of(arguments, engine)
    check_names(settings)
    folder = model_folder(arguments, MODEL)
    try:
        listening = _listen(settings.host, settings.port)
    except OSError as error:
        raise ValueError(f"can't listen on {settings.host}:{settings.port}: {error.strerror}") from error
    with listening:
        return _serve(settings, arguments, folder, listening)


def _listen(host: str, port: int) -> socket.socket:
    """Takes the port before the model is loaded, so that a port in use is told at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError:
        listening.close()
        raise
    return listening


def _serve(settings: Settings, arguments: Namespace, folder: Path, listening: socket.socket) -> int:
    from grammar_cache.warm_up import warm_up
    from server.commands.serving import serve
    from server.console.loops import announced

    report(f"swyb: loading {folder}")
    backend = backend_of(arguments, folder, settings)
    with announced():
        warm_up(backend.model.vocabulary)  # before anybody is told that it is ready
    return serve(settings, backend, listening, partial(_tell, listening))


def _tell(listening: socket.socket, service: Service) -> None:
    host, port = listening.getsockname()[:2]
    report(f"swyb: {service.model.name} is ready at {address(host, port)}. Try:\n")
    print(example(address(host, port), service.model.name, keyed=service.settings.asks_for_key))
    sys.stdout.flush()


def address(host: str, port: int) -> str:
    """The server's address as a client on this machine writes it."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"


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
