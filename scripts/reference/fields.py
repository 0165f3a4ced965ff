"""The page on fields: all of every route, of ours and of others, and what becomes of each."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping

import server.routes
from scripts.reference.http import neutral_values
from scripts.reference.markdown import linked, table
from scripts.reference.servers import DOCUMENTED
from server.api.description import FOREIGN, TAKEN
from server.protocol.foreign.field import Foreign
from server.protocol.messages import ChatMessage
from server.protocol.strict import StrictModel

_HEAD = """# Fields

Made from the code by `python -m scripts.reference`. [HTTP interface](http.md) says what the honoured ones mean.

Every field of a request is honoured, neutral or refused, whichever server it comes from:

- **honoured**: it does what it says.
- **neutral**: values that ask for what happens anyway are accepted; the table lists them. Any other value is a 400
  that says what to send instead. Null is always accepted, and means that the field is absent.
- **refused**: any value but null is a 400.

A field that nobody is known to have is a 400 too, with the closest name. `swyb serve --unknown-fields report` lets such
fields through and lists them in `swyb.ignored` of the answer, unless their names look like a constraint (`schema`,
`grammar`, `regex`, `format`, `guided`, `choice` and the like).

The servers named are those whose documentation or source has the field for a chat.
"""


def page() -> str:
    """All fields of all bodies, then those of one message of a chat."""
    routes = dict(_routes())
    names = sorted({name for model in routes.values() for name in (*model.member_names(), *_foreign(model))})
    rows = [_row(name, routes) for name in names]
    head = ("Field", "Documented by", *(f"`{route}`" for route in routes), "Neutral values", "Instead of others")
    message = FOREIGN[ChatMessage]
    told = [(f"`{name}`", neutral_values(field), linked(field.instead)) for name, field in sorted(message.items())]
    return "\n".join(
        [
            _HEAD,
            table(head, rows),
            "\n## Fields of one message\n",
            "Beside those that [are honoured](http.md#messages):\n",
            table(("Field", "Neutral values", "Instead of others"), told),
            "",
        ]
    )


def _routes() -> Iterator[tuple[str, type[StrictModel]]]:
    """Routes that take a body, and the models of their bodies."""
    models = {f"#/components/schemas/{model.__name__}": model for model in TAKEN}
    for found in pkgutil.iter_modules(server.routes.__path__):
        module = importlib.import_module(f"server.routes.{found.name}")
        for route in getattr(getattr(module, "router", None), "routes", ()):
            body = (getattr(route, "openapi_extra", None) or {}).get("requestBody")
            if body is not None:
                [method] = route.methods
                reference = body["content"]["application/json"]["schema"]["$ref"]
                yield f"{method} {route.path}", models[reference]


def _foreign(model: type[StrictModel]) -> Mapping[str, Foreign]:
    return FOREIGN.get(model, {})


def _row(name: str, routes: Mapping[str, type[StrictModel]]) -> tuple[str, ...]:
    owners = ", ".join(server for server, fields in DOCUMENTED.items() if name in fields)
    others = {route: _foreign(model)[name] for route, model in routes.items() if name in _foreign(model)}
    values = _told({route: neutral_values(field) for route, field in others.items()})
    advice = _told({route: linked(field.instead) for route, field in others.items()})
    return f"`{name}`", owners, *(_verdict(name, model) for model in routes.values()), values, advice


def _told(texts: Mapping[str, str]) -> str:
    """One text for all routes; or each with the routes that it is about."""
    if len(set(texts.values())) < 2:
        return "".join(set(texts.values()))
    parts = []
    for text in dict.fromkeys(filter(None, texts.values())):
        paths = ", ".join(route.split()[-1] for route in texts if texts[route] == text)
        parts.append(f"{text} ({paths})")
    return "; ".join(parts)


def _verdict(name: str, model: type[StrictModel]) -> str:
    if name in model.member_names():
        return "honoured"
    field = _foreign(model).get(name)
    return "neutral" if field is not None and (field.neutral or field.types) else "refused"
