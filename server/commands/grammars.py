"""`swyb grammars`: what is in a store, and which names are registered there. Loads no model.

A function imports what opens stores, which takes half a second to load: help needs none of it.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from grammar_cache.store.contract import StoreError
from server.console.options import add_store, print_json, stored
from server.console.parser import examples
from server.console.table import table

if TYPE_CHECKING:
    from grammar_cache.store.catalogue import Catalogue
    from grammar_cache.store.contract import Info

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
            examples(command, f"swyb grammars {action} city --store sqlite:///tmp/swyb/store.sqlite3")
        else:
            command.add_argument("--json", action="store_true", help="for programs (default: a table)")
            examples(command, "swyb grammars list", "swyb grammars list --json --store redis://127.0.0.1:6379")
        add_store(command)
    examples(parser, "swyb grammars list", "swyb grammars show city")


def run(arguments: Namespace) -> int:
    """Prints what there is. Raises ValueError without a store, and where there is no such thing or no answer."""
    from server.grammars.opening import opened_store

    database = opened_store(stored(arguments), begin=False)
    if database is None:
        raise ValueError("there is no store: name one by --store")
    try:
        catalogue = database.catalogue(PATIENCE_SECONDS)
        if arguments.action == "list":
            _list(catalogue, json=arguments.json)
            return 0
        return (_show if arguments.action == "show" else _remove)(catalogue, arguments.what)
    except StoreError as error:
        raise ValueError(str(error)) from error
    finally:
        database.close(PATIENCE_SECONDS)


def _list(catalogue: Catalogue, *, json: bool) -> None:
    names, infos = catalogue.names(), catalogue.infos()
    if json:
        print_json({"named": names, "grammars": [_row(info) for info in infos]})
        return
    print(f"registered: {', '.join(names) or 'none'}")
    rows = [(info.name, info.artefact_bytes, info.entries, info.uses, _time(info.used), info.origin) for info in infos]
    print(
        "\n" + table(("PLACE", "BYTES", "FOUND", "USES", "LAST USED", "COMPILED BY"), rows) if rows else "no grammars"
    )


def _show(catalogue: Catalogue, what: str) -> int:
    constraint = catalogue.find(what)
    if constraint is not None:
        print_json({"name": what, **asdict(constraint)})
        return 0
    for info in catalogue.infos([what, catalogue.place(what)]):
        print_json(_row(info))
        return 0
    raise _none(what)


def _remove(catalogue: Catalogue, what: str) -> int:
    gone = catalogue.forget(what) or catalogue.remove(catalogue.place(what)) or catalogue.remove(what)
    if not gone:
        raise _none(what)
    return 0


def _none(what: str) -> ValueError:
    return ValueError(f"there is no {what!r}")


def _row(info: Info) -> dict[str, object]:
    """Row of a table: a grammar as the store reports it, with times for people."""
    told = asdict(info)
    place = told.pop("name")
    return {"place": place, **told, "created": _time(info.created), "used": _time(info.used)}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
