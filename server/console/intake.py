"""Options of `swyb serve` for what comes slowly, not at all or unknown, and for the pages about the interface."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import get_args

from server.console.options import positive
from server.settings import Intake, Settings, UnknownFields


def add_intake(parser: ArgumentParser) -> None:
    """Adds the options for how much the server takes in, and how long; see `Intake`."""
    default = Intake()
    parser.add_argument(
        "--connections",
        type=positive,
        default=default.connections,
        metavar="N",
        help="connections that may be open (default: %(default)s)",
    )
    parser.add_argument(
        "--header-seconds",
        type=positive,
        default=default.header_seconds,
        metavar="S",
        help="seconds for a request's headers to come (default: %(default)s)",
    )
    parser.add_argument(
        "--body-seconds",
        type=positive,
        default=default.body_seconds,
        metavar="S",
        help="seconds for a request's body to come (default: %(default)s)",
    )
    parser.add_argument(
        "--bodies",
        type=positive,
        default=default.bodies,
        metavar="N",
        help="bodies of which only a part may have come (default: %(default)s)",
    )
    parser.add_argument(
        "--unknown-fields",
        choices=get_args(UnknownFields),
        default=Settings().unknown_fields,
        help="refuse fields of a request that nobody is known to have, or answer and report them under swyb.ignored; "
        "names that look like a constraint are refused in any case (default: %(default)s)",
    )
    parser.add_argument(
        "--no-docs", action="store_true", help="no /docs and no /openapi.json, which need no key (default: both)"
    )
    parser.add_argument(
        "--no-playground",
        action="store_true",
        help="no page to try the server with at / and /playground, whose files need no key (default: there is one)",
    )
    parser.add_argument(
        "--cors-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="pages of this origin, such as https://example.org, may read answers in browsers; may be repeated; *: all "
        "(default: none)",
    )


def intake_of(arguments: Namespace) -> Intake:
    """Bounds that the command line gives."""
    return Intake(arguments.connections, arguments.header_seconds, arguments.body_seconds, arguments.bodies)
