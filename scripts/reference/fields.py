"""The page on fields: all of every route, of ours and of others, and what becomes of each."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator, Mapping

import server.routes
from scripts.reference.http import neutral_values
from scripts.reference.markdown import linked, table
from scripts.reference.servers import DOCUMENTED
from server.api.description import FOREIGN, TAKEN
from server.protocol.anthropic.blocks import ToolResultBlock, ToolUseBlock
from server.protocol.anthropic.request import OutputConfig
from server.protocol.anthropic.tools import AnthropicTool
from server.protocol.foreign.engines import OPTIONS
from server.protocol.foreign.field import Foreign
from server.protocol.foreign.names import IN_OPTIONS, OTHER_NAMES, OtherName, honours_options
from server.protocol.foreign_fields import MESSAGE, STRUCTURED_OUTPUTS
from server.protocol.strict import StrictModel
from server.protocol.thinking.fields import Thinking

_HEAD = """# Fields

Made from the code by `python -m scripts.reference`. [HTTP interface](http.md) says what the honoured ones mean.

Every field of a request is honoured, neutral or refused, whichever server it comes from:

- **honoured**: it does what it says. Fields that are ours by [other names](fields.md#other-names) are read too.
- **neutral**: values that ask for what happens anyway are accepted; the table lists them. Any other value is a 400
  that says what to send instead. Null is always accepted, and means that the field is absent.
- **refused**: any value but null is a 400.

A field that nobody is known to have is a 400 too, with the closest name. `swyb serve --unknown-fields report` lets such
fields through and lists them in `swyb.ignored` of the answer, unless their names look like a constraint (`schema`,
`grammar`, `regex`, `format`, `guided`, `choice` and the like).

The servers named are those whose documentation or source has the field for a chat.
"""

INNER: Mapping[type[StrictModel], str] = {
    Thinking: "`thinking`",
    OutputConfig: "`output_config`",
    AnthropicTool: "Anthropic's tools",
    ToolUseBlock: "`tool_use`",
    ToolResultBlock: "`tool_result`",
}
"""Objects within bodies that others have more members of, and what they are called."""


def page() -> str:
    """All fields of all bodies, then members of those that are objects."""
    routes = dict(bodies())
    names = sorted({name for model in routes.values() for name in (*_honoured(model), *_foreign(model))})
    rows = [_row(name, routes) for name in names]
    head = ("Field", "Documented by", *(f"`{route}`" for route in routes), "Neutral values", "Instead of others")
    return "\n".join(
        [
            _HEAD,
            table(head, rows),
            "\n## Other names\n",
            "A field that is sent by another name has the bounds of ours. Two names with different values are a 400.\n",
            _other_names(OTHER_NAMES),
            "\n## Members of `options`\n",
            "Ollama's `options` hold other fields:\n",
            _other_names(IN_OPTIONS),
            "\nBeside these:\n",
            _members(OPTIONS),
            "\n## Members of `structured_outputs`\n",
            "Beside those that [are honoured](http.md#constraints):\n",
            _members(STRUCTURED_OUTPUTS),
            "\n## Fields of one message\n",
            "Beside those that [are honoured](http.md#messages):\n",
            _members(MESSAGE),
            *(
                part
                for model, about in INNER.items()
                for part in (f"\n## Members of {about}\n", _members(model.foreign))
            ),
            "",
        ]
    )


def _other_names(others: Mapping[str, OtherName]) -> str:
    return table(
        ("Field", "Ours", "Meaning"),
        [(f"`{name}`", f"`{other.ours}`", "; ".join(_meanings(other))) for name, other in sorted(others.items())],
    )


def _meanings(other: OtherName) -> Iterator[str]:
    """Values that are others in ours, and what becomes of the rest."""
    for theirs, ours in other.values:
        yield f"`{json.dumps(theirs)}`: {'absence' if ours is None else f'`{json.dumps(ours)}`'}"
    if other.values:
        yield "other values: the same" if other.others else "other values are refused"


def _members(known: Mapping[str, Foreign]) -> str:
    rows = [(f"`{name}`", neutral_values(field), linked(field.instead)) for name, field in sorted(known.items())]
    return table(("Field", "Neutral values", "Instead of others"), rows)


def bodies() -> Iterator[tuple[str, type[StrictModel]]]:
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


def _honoured(model: type[StrictModel]) -> list[str]:
    """Names that a body's model is read by, ours and others'."""
    ours = model.member_names()
    others = [name for name, other in OTHER_NAMES.items() if other.ours in ours]
    return [*ours, *others, *(["options"] if honours_options(ours) else [])]


def _row(name: str, routes: Mapping[str, type[StrictModel]]) -> tuple[str, ...]:
    owners = ", ".join(server for server, fields in DOCUMENTED.items() if name in fields)
    others = {
        route: _foreign(model)[name]
        for route, model in routes.items()
        if name in _foreign(model) and name not in _honoured(model)
    }
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
    if name in _honoured(model):
        return "honoured"
    field = _foreign(model).get(name)
    return "neutral" if field is not None and (field.neutral or field.types) else "refused"
