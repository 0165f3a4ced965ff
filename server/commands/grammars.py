"""`swyb grammars`: what is in a store, and which names are registered there. Loads no model."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from datetime import UTC, datetime

from grammar_cache.store.catalogue import Catalogue
from grammar_cache.store.contract import Info, StoreError
from server.commands.options import add_store, print_json, report, store_options
from server.sharing import opened_store

PATIENCE_SECONDS = 30.0
"""A large store takes long to look through."""


def add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for action, text in (
        ("list", "all grammars in the store, the last used first, and all names that are registered"),
        ("show", "what is registered under a name, or what is known of a grammar"),
        ("rm", "takes a name away, or a grammar with all that was found and precomputed for it"),
    ):
        command = actions.add_parser(action, help=text, description=text[0].upper() + text[1:])
        if action != "list":
            command.add_argument("what", metavar="NAME", help="a registered name, a grammar_id, or a place of the list")
        add_store(command)


def run(arguments: Namespace) -> int:
    """Prints JSON; 1 where there is no such thing, or no answer. Raises ValueError without a store."""
    database = opened_store(store_options(arguments).settings())
    if database is None:
        raise ValueError("there is no store: name one by --store")
    try:
        catalogue = database.catalogue(PATIENCE_SECONDS)
        if arguments.action == "list":
            print_json({"named": catalogue.names(), "grammars": [_row(info) for info in catalogue.infos()]})
            return 0
        return (_show if arguments.action == "show" else _remove)(catalogue, arguments.what)
    except StoreError as error:
        report(f"swyb grammars: {error}")
        return 1
    finally:
        database.close(PATIENCE_SECONDS)


def _show(catalogue: Catalogue, what: str) -> int:
    constraint = catalogue.find(what)
    if constraint is not None:
        print_json({"name": what, **asdict(constraint)})
        return 0
    for info in catalogue.infos([what, catalogue.place(what)]):
        print_json(_row(info))
        return 0
    return _none(what)


def _remove(catalogue: Catalogue, what: str) -> int:
    gone = catalogue.forget(what) or catalogue.remove(catalogue.place(what)) or catalogue.remove(what)
    return 0 if gone else _none(what)


def _none(what: str) -> int:
    report(f"swyb grammars: there is no {what!r}")
    return 1


def _row(info: Info) -> dict[str, object]:
    """As the store tells it, with times for people."""
    told = asdict(info)
    place = told.pop("name")
    return {"place": place, **told, "created": _time(info.created), "used": _time(info.used)}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
