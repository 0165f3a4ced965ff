"""`swyb generate`: one answer on the command line, by the same path as over HTTP."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from contextlib import aclosing

from grammar_cache import Constraint
from server.commands.backends import add_engine, backend_of
from server.commands.options import (
    STDIN,
    add_constraint,
    add_model,
    add_store,
    constraint,
    model_folder,
    positive,
    print_json,
    read,
    report,
    store_options,
)
from server.completions import chunks, completion
from server.protocol.errors import ApiError
from server.protocol.reading import parse_chat, parse_json
from server.service import Service
from server.settings import Settings
from server.sharing import check_store


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("prompt", help='what to ask; "-" reads the standard input')
    parser.add_argument("--system", help="a system message before it")
    add_constraint(parser, required=False)
    add_model(parser)
    add_store(parser)
    add_engine(parser)
    parser.add_argument("--max-tokens", type=positive)
    parser.add_argument("--temperature", type=float)
    parser.add_argument("--top-p", type=float)
    parser.add_argument("--top-k", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--beam-width", type=positive)
    parser.add_argument("--alpha", type=float)
    parser.add_argument("--json", action="store_true", help="print the whole response rather than its text")


def run(arguments: Namespace) -> int:
    """Prints the text as it is agreed, and the certificate to the standard error; or the error (then: 1)."""
    try:
        body = request_body(arguments, constraint(arguments))
        settings = store_options(arguments).settings()
        check_store(settings)
        service = Service(settings, backend_of(arguments, model_folder(arguments), settings))
        asyncio.run(_generate(service, {"model": service.model.name, **body}, whole=arguments.json))
    except ApiError as error:
        print_json(error.body)
        return 1
    return 0


def request_body(arguments: Namespace, wanted: Constraint | None) -> dict[str, object]:
    """What a client would send, but for the model's name."""
    prompt = read(STDIN) if arguments.prompt == STDIN else arguments.prompt
    messages = [{"role": "user", "content": prompt}]
    if arguments.system is not None:
        messages.insert(0, {"role": "system", "content": arguments.system})
    plain = ("max_tokens", "temperature", "top_p", "top_k", "seed")
    ours = ("beam_width", "alpha", "whitespace", "start", "lexer")
    body: dict[str, object] = {"messages": messages, **_given(arguments, plain)}
    options = _given(arguments, ours) | ({"lenient": True} if arguments.lenient else {})
    if options:
        body["swyb"] = options
    return body | _constraint_fields(wanted)


def _given(arguments: Namespace, names: tuple[str, ...]) -> dict[str, object]:
    return {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}


def _constraint_fields(wanted: Constraint | None) -> dict[str, object]:
    match wanted:
        case None:
            return {}
        case Constraint(kind="json_schema", text=text):
            return {"json_schema": text}
        case Constraint(kind="regex", text=text):
            return {"response_format": {"type": "regex", "regex": text}}
        case Constraint(kind="choice", text=text):
            choices = parse_json(text.encode(), Settings().body_nesting)
            return {"response_format": {"type": "choice", "choice": choices}}
        case _:
            return {"response_format": {"type": "grammar", "grammar": wanted.text, "syntax": wanted.kind}}


async def _generate(service: Service, body: dict[str, object], *, whole: bool) -> None:
    service.start()
    try:
        await service.until_ready()
        job = await service.prepare(parse_chat(body))
        if whole:
            print((await completion(service, job)).model_dump_json(indent=2))
            return
        async with aclosing(chunks(service, job, include_usage=False)) as stream:
            async for chunk in stream:
                sys.stdout.write(chunk.choices[0].delta.content or "")
                sys.stdout.flush()
                if chunk.swyb is not None:
                    print()
                    report(chunk.swyb.model_dump_json())
    finally:
        await asyncio.to_thread(service.stop)
