"""Reading the compose files as Compose does, as far as they use it: variables filled in, one file laid over another."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.documents import ROOT

FOLDER = ROOT / "docker"
_REPLACED = ("command", "entrypoint", "test")
"""Lists of which a later file's takes the place of an earlier one's. Others are put together."""
_VARIABLE = re.compile(r"\$(?:\$|(?P<plain>\w+)|\{(?P<name>\w+)(?:(?P<how>:-|:\?)(?P<rest>[^}]*))?\})")


class MissingVariable(ValueError):
    """A file asks for a variable that isn't set."""


def composed(*files: str, variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The services of these files, laid one over the other."""
    whole: dict[str, Any] = {}
    for file in files:
        whole = _laid(whole, filled(raw(file), variables or {}))
    return whole


def raw(file: str) -> dict[str, Any]:
    """One file as it is written."""
    found = yaml.safe_load((FOLDER / file).read_text())
    assert isinstance(found, dict)
    return found


def files() -> list[str]:
    """All of them, the first one first."""
    return sorted((path.name for path in FOLDER.glob("compose*.yaml")), key=lambda name: (name != "compose.yaml", name))


def filled(value: Any, variables: Mapping[str, str]) -> Any:
    """Fills in the values of variables. Raises MissingVariable."""
    match value:
        case str():
            return _VARIABLE.sub(lambda found: _value(found, variables), value)
        case dict():
            return {key: filled(part, variables) for key, part in value.items()}
        case list():
            return [filled(part, variables) for part in value]
        case _:
            return value


def variables_of(value: Any) -> set[str]:
    """The names of the variables in it."""
    found = _VARIABLE.finditer(value if isinstance(value, str) else yaml.safe_dump(value, width=1 << 20))
    return {match["plain"] or match["name"] for match in found} - {None}


def words(command: str | list[str]) -> list[str]:
    """A service's command."""
    return shlex.split(command) if isinstance(command, str) else command


def names(value: Any) -> list[str]:
    """Names that a service lists, be it by name alone or with more about each: networks, secrets, configs, …"""
    return [entry if isinstance(entry, str) else entry["source"] for entry in value]


def place(path: str) -> Path:
    """Place of a path that a compose file names: relative to its folder."""
    return (FOLDER / path).resolve()


def _value(found: re.Match[str], variables: Mapping[str, str]) -> str:
    name = found["plain"] or found["name"]
    if name is None:
        return "$"
    if variables.get(name):
        return variables[name]
    if found["how"] == ":?":
        raise MissingVariable(f"{name}: {found['rest']}")
    return found["rest"] or ""


def _laid(below: Any, above: Any, key: str = "") -> Any:
    if isinstance(below, dict) and isinstance(above, dict):
        both = {name: _laid(below[name], above[name], name) for name in below.keys() & above.keys()}
        return {**below, **above, **both}
    if isinstance(below, list) and isinstance(above, list) and key not in _REPLACED:
        return below + [entry for entry in above if entry not in below]
    return above
