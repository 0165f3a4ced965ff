"""`swyb serve`: the server, from the model's folder to a clean end."""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import get_args

from grammar_cache.warm_up import warm_up
from server.commands.backends import EngineName, add_engine, backend_of, engine_name
from server.commands.options import (
    add_model,
    add_store,
    model_folder,
    port,
    positive,
    read_bytes,
    report,
    seconds,
    store_options,
    whole,
)
from server.commands.serving import ENGINE_FAILED, serve
from server.protocol.errors import ApiError
from server.protocol.grammars import GrammarRequest
from server.protocol.reading import parse_grammar, parse_json
from server.service import Service
from server.settings import EngineFailure, Settings
from server.sharing import check_store

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
    parser.add_argument("--name", help="the model's name in requests (default: the folder's)")
    parser.add_argument("--host", default=default.host)
    parser.add_argument("--port", type=port, default=default.port, help="0: any free one (default: %(default)s)")
    parser.add_argument("--api-key", help=f"what every /v1 request must carry (default: ${API_KEY_VARIABLE})")
    parser.add_argument(
        "--max-tokens", type=positive, default=default.default_max_tokens, help="of requests that don't say"
    )
    parser.add_argument(
        "--running",
        type=positive,
        help=f"requests decoded together (default: {default.running}, with vLLM {VLLM_RUNNING})",
    )
    parser.add_argument("--waiting", type=positive, default=default.waiting, help="requests that may wait")
    parser.add_argument("--grammars", type=positive, default=default.cached_grammars, help="kept compiled")
    parser.add_argument(
        "--prefix-cache",
        type=whole,
        metavar="MIB",
        help=f"of transformers, for prompts; 0: none (default: {default.prefix_cache_bytes >> 20})",
    )
    add_store(parser)
    parser.add_argument(
        "--warm",
        nargs="+",
        default=[],
        metavar="FILE|NAME",
        help="grammars to compile before it is ready: names, or JSON files, each a list of bodies of POST /v1/grammars",
    )
    _add_end(parser)
    add_engine(parser)


def _add_end(parser: ArgumentParser) -> None:
    """How and when the server ends. A default that is a text is read as if it stood on the command line."""
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
    """What `Settings.on_engine_failure` may be."""
    if text not in get_args(EngineFailure):
        raise ArgumentTypeError(f"{text!r} is none of {', '.join(get_args(EngineFailure))}")
    return text


def settings_of(arguments: Namespace, engine: EngineName) -> Settings:
    """The settings that the command line and the environment ask for. Raises ValueError for what the engine hasn't."""
    default = Settings()
    if engine == "vllm" and arguments.prefix_cache is not None:
        raise ValueError("--prefix-cache is for transformers; vLLM has --no-enable-prefix-caching, behind --")
    store = store_options(arguments)
    prefix_cache = default.prefix_cache_bytes if arguments.prefix_cache is None else arguments.prefix_cache << 20
    return Settings(
        host=arguments.host,
        port=arguments.port,
        model=arguments.model,
        name=arguments.name,
        api_key=arguments.api_key or os.environ.get(API_KEY_VARIABLE) or None,
        default_max_tokens=arguments.max_tokens,
        running=arguments.running or (VLLM_RUNNING if engine == "vllm" else default.running),
        waiting=arguments.waiting,
        cached_grammars=arguments.grammars,
        prefix_cache_bytes=prefix_cache,
        drain_seconds=arguments.drain_seconds,
        shutdown_seconds=arguments.shutdown_seconds,
        on_engine_failure=arguments.on_engine_failure,
        store=store.address,
        store_secret=store.secret,
        store_tenant=store.tenant,
        warm=tuple(grammar for wanted in arguments.warm for grammar in _warm(wanted)),
    )


def _warm(wanted: str) -> Iterable[GrammarRequest | str]:
    """What a file lists, or else the name. Raises ValueError, OSError."""
    if not Path(wanted).is_file():
        return [wanted]
    try:
        listed = parse_json(read_bytes(wanted), Settings().body_nesting)
        return [parse_grammar(body) for body in (listed if isinstance(listed, list) else [listed])]
    except ApiError as error:
        raise ValueError(f"{wanted}: {error.message}") from error


def run(arguments: Namespace) -> int:
    """Serves until SIGINT, SIGTERM or a failure of the engine; returns what `serve` does."""
    settings = settings_of(arguments, engine_name(arguments))
    check_store(settings)
    try:
        listening = _listen(settings.host, settings.port)
    except OSError as error:
        report(f"swyb: can't listen on {settings.host}:{settings.port}: {error.strerror}")
        return 1
    with listening:
        return _serve(settings, arguments, listening)


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


def _serve(settings: Settings, arguments: Namespace, listening: socket.socket) -> int:
    folder = model_folder(arguments)
    report(f"swyb: loading {folder}")
    backend = backend_of(arguments, folder, settings)
    warm_up(backend.model.vocabulary)  # before anybody is told that it is ready
    return serve(settings, backend, listening, partial(_tell, listening))


def _tell(listening: socket.socket, service: Service) -> None:
    host, port = listening.getsockname()[:2]
    report(f"swyb: {service.model.name} is ready at {address(host, port)}. Try:\n")
    print(example(address(host, port), service.model.name, keyed=service.settings.api_key is not None))
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
        "messages": [{"role": "user", "content": "Name a large city and its population, as JSON."}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "city", "schema": _EXAMPLE_SCHEMA},
        },
    }
    key = f' -H "Authorization: Bearer ${API_KEY_VARIABLE}"' if keyed else ""
    return (
        f"curl {base}/v1/chat/completions -H 'Content-Type: application/json'{key} -d {shlex.quote(json.dumps(body))}"
    )
