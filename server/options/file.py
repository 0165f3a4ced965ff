"""File of settings: YAML, one key an option, each value a text or a list of texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # loaded when a file is read: texts of help are there at once
    from yaml.nodes import Node

_NULL = ("", "~", "null")


class Entry(NamedTuple):
    """Value of a key, as it is written, and the line that it stands in, from 1."""

    value: str | list[str]
    line: int


def entries(file: Path) -> dict[str, Entry]:
    """Keys of a file that have a value. YAML's own types are left alone: `0123` and `no` are what their readers say.

    Raises OSError, or ValueError, with the line, for what is no mapping of names to texts or lists of texts.
    """
    import yaml

    try:
        top = yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"{file}:{line}: no YAML: {error.problem}") from error
    except RecursionError:
        raise ValueError(f"{file}: no YAML: it is nested too deeply") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{file}: no YAML: {error}") from error
    found: dict[str, Entry] = {}
    for key, value, line in _pairs(file, top):
        if key in found:
            raise ValueError(f"{file}:{line}: {key} is there twice, first in line {found[key].line}")
        found[key] = Entry(value, line)
    return {key: entry for key, entry in found.items() if entry.value != ""}


def _pairs(file: Path, top: Node | None) -> Iterator[tuple[str, str | list[str], int]]:
    from yaml.nodes import MappingNode, ScalarNode, SequenceNode

    if top is None:  # an empty file
        return
    if not isinstance(top, MappingNode):
        raise ValueError(f"{file}: not a mapping of options to values, such as `port: 8000`")
    for key, node in top.value:
        line = key.start_mark.line + 1
        if not isinstance(key, ScalarNode):
            raise ValueError(f"{file}:{line}: the name of an option is a text, and this is none")
        if isinstance(node, SequenceNode) and all(isinstance(item, ScalarNode) for item in node.value):
            yield str(key.value), [str(item.value) for item in node.value], line
        elif isinstance(node, ScalarNode):
            null = node.style is None and node.value in _NULL
            yield str(key.value), "" if null else str(node.value), line
        else:
            raise ValueError(f"{file}:{line}: {key.value} is neither a value nor a list of values")
