"""The page on the library: everything that `from swyb import …` gives, with signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

import swyb
from scripts.reference.markdown import linked, table

_HEAD = """# Python

Made from the code by `python -m scripts.reference`. [A tutorial](../start.md) is elsewhere.

`from swyb import …` needs no server, no model and no network: a tokenizer is enough. One thread owns a compiled
grammar: its tables grow while it is used. Every refusal derives from `ValueError` and carries `code`, `message`, and
`pointer` or `line` and `column`.
"""


def page() -> str:
    """All public names, functions and classes before errors."""
    names = [name for name in sorted(swyb.__all__) if name != "__version__"]
    things = {name: getattr(swyb, name) for name in names}
    errors = [name for name in names if inspect.isclass(things[name]) and issubclass(things[name], Exception)]
    parts = [_HEAD]
    for name in [name for name in names if name not in errors]:
        parts += _class(name, things[name]) if inspect.isclass(things[name]) else _function(name, things[name], 2)
    parts.append("## Errors")
    parts.append(table(("Error", "Derives from", "Meaning"), [_error(things[name]) for name in errors]))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _class(name: str, found: type) -> Iterator[str]:
    yield f"## {name}"
    if name != "CompiledGrammar":  # which `compile_grammar` makes
        yield _code(f"{name}{_signature(found)}")
    yield _text(found)
    if is_dataclass(found):
        told = _attribute_texts(found)
        rows = [(f"`{field.name}`", f"`{field.type}`", told.get(field.name, "")) for field in fields(found)]
        if told:
            yield table(("Field", "Type", "Meaning"), rows)
    for member, value in vars(found).items():
        if member.startswith("_"):
            continue
        if isinstance(value, property | cached_property):
            yield f"### {name}.{member}"
            yield _text(value)
        elif inspect.isfunction(value) or isinstance(value, classmethod):
            yield from _function(f"{name}.{member}", getattr(found, member), 3)


def _function(name: str, found: Any, level: int) -> Iterator[str]:
    yield f"{'#' * level} {name}"
    yield _code(f"{name}{_signature(found)}")
    yield _text(found)


def _error(found: type[Exception]) -> tuple[str, str, str]:
    return f"`{found.__name__}`", f"`{found.__bases__[0].__name__}`", _text(found)


def _signature(found: Any) -> str:
    """Parameters and annotations as they are written; not what a method is called on."""
    signature = inspect.signature(found)
    shown = [_shown(parameter) for parameter in signature.parameters.values() if parameter.name != "self"]
    returned = signature.return_annotation
    end = "" if inspect.isclass(found) or returned is inspect.Signature.empty else f" -> {returned}"
    line = f"({', '.join(shown)}){end}"
    return line if len(line) < 80 else "(\n" + "".join(f"    {parameter},\n" for parameter in shown) + f"){end}"


def _shown(parameter: inspect.Parameter) -> str:
    """One parameter; a default that is an object is told by its class, so that no address is shown."""
    text = f"{parameter.name}: {parameter.annotation}"
    default = parameter.default
    if default is inspect.Parameter.empty:
        return text
    plain = isinstance(default, str | int | float | bool | None)
    return f"{text} = {default!r}" if plain else f"{text} = {type(default).__name__}(…)"


def _attribute_texts(found: type) -> dict[str, str]:
    """The docstrings below the fields of a class."""
    pairs = re.findall(r'^    (\w+): [^\n]*\n    """(.*?)"""', inspect.getsource(found), re.DOTALL | re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in pairs}


def _text(found: Any) -> str:
    return linked(inspect.getdoc(found) or "")


def _code(text: str) -> str:
    return f"```text\n{text}\n```"
