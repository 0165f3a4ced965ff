"""`swyb generate`: one answer on the command line, by the same path as over HTTP.

Functions import what needs numba or pydantic, which take a second to load: help needs none of it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentParser, Namespace
from contextlib import aclosing
from typing import TYPE_CHECKING

from grammar_cache.constraint import Constraint
from grammar_cache.errors import GrammarError
from server.console.backends import add_engine, backend_of, check_engine, engine_name
from server.console.models import MODEL, add_model, model_folder
from server.console.options import STDIN, add_constraint, add_store, constraint, read, report, stored
from server.console.parser import examples
from server.console.refusals import refused
from server.options.readers import positive, utf8
from server.protocol.errors import ApiError
from server.settings import Settings

if TYPE_CHECKING:
    from server.service import Service


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "prompt", type=utf8, help='what to ask; "-" reads the standard input. Nothing else tells what is wanted'
    )
    parser.add_argument("--system", type=utf8, metavar="TEXT", help="a system message before it (default: none)")
    parser.add_argument("--json", action="store_true", help="print the whole response (default: its text)")
    add_constraint(parser, required=False)
    _add_decoding(parser)
    add_model(parser)
    add_store(parser)
    add_engine(parser)
    examples(
        parser,
        'swyb generate "Describe Marie Curie in JSON: name, field, summary." \\',
        "    --schema examples/person.schema.json --max-tokens 24",
        'swyb generate "All singers older than 20, as an SQL query." --shipped sql --beam-width 4',
    )


def _add_decoding(parser: ArgumentParser) -> None:
    how = parser.add_argument_group("decoding")
    tokens = Settings().default_max_tokens
    how.add_argument("--max-tokens", type=positive, metavar="T", help=f"the token budget (default: {tokens})")
    how.add_argument("--temperature", type=float, default=0.0, help="above 0 tokens are drawn (default: 0, greedy)")
    how.add_argument(
        "--top-p", type=float, metavar="P", help="draw from the most likely tokens of this mass (default: 1)"
    )
    how.add_argument("--top-k", type=int, metavar="K", help="draw from so many tokens (default: all)")
    how.add_argument("--seed", type=int, help="of what is drawn (default: another one each time)")
    how.add_argument("--beam-width", type=positive, metavar="M", help="texts that a search keeps (default: 1)")
    how.add_argument("--alpha", type=float, help="how far the distance guides (default: 0, with beams 0.5)")


def run(arguments: Namespace) -> int:
    """Prints the text as it is agreed, and the certificate to the standard error; or the error (then: 1)."""
    wanted = constraint(arguments, arguments.prompt)
    engine = engine_name(arguments)
    check_engine(engine)
    folder = model_folder(arguments, MODEL)
    from grammar_cache.compile import parse
    from server.console.loops import ready_loops
    from server.grammars.opening import check_store
    from server.protocol.reading import parse_chat
    from server.service import Service

    settings = stored(arguments)
    check_store(settings)
    try:
        body = request_body(arguments, wanted)
        parse_chat(body)  # faults are reported before the model is loaded
        ready_loops()
        if wanted is not None:
            parse(wanted)
        service = Service(settings, backend_of(arguments, folder, settings))
        asyncio.run(_generate(service, {"model": service.model.name, **body}, whole=arguments.json))
    except (ApiError, GrammarError) as error:
        refused(error, arguments, wanted.text if wanted else None, json=arguments.json)
        return 1
    return 0


def request_body(arguments: Namespace, wanted: Constraint | None) -> dict[str, object]:
    """Body that a client would send, but for the model's name."""
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
            from grammar_cache.compile import parse

            parse(wanted)  # a mistake is told with its place in the file
            return {"response_format": {"type": "choice", "choice": json.loads(text)}}
        case Constraint(kind="structural_tag", text=text):
            return {"structural_tag": text}
        case _:
            return {"response_format": {"type": "grammar", "grammar": wanted.text, "syntax": wanted.kind}}


async def _generate(service: Service, body: dict[str, object], *, whole: bool) -> None:
    from server.presenters.chat import ChatPresenter
    from server.protocol.reading import parse_chat

    service.start()
    try:
        await service.until_ready()
        presenter = ChatPresenter(service, [await service.prepare(parse_chat(body))], include_usage=False)
        if whole:
            print((await presenter.whole()).model_dump_json(indent=2))
            return
        async with aclosing(presenter.chunks()) as stream:
            async for chunk in stream:
                sys.stdout.write(chunk.choices[0].delta.content or "")
                sys.stdout.flush()
                if chunk.swyb is not None:
                    print()
                    report(chunk.swyb.model_dump_json())
    finally:
        await asyncio.to_thread(service.stop)
