"""Settings as text: a file that `--config` reads, with where each value comes from, and no secret."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import reduce
from typing import Any

from server.options.readers import HIDDEN
from server.options.sources import Configuration


def shown(configuration: Configuration[Any]) -> str:
    """Lines of YAML, one an option. Values with something hidden are comments: else they would be read as they are."""
    return "\n".join(_lines(configuration))


def _lines(configuration: Configuration[Any]) -> Iterable[str]:
    for option in configuration.options:
        value = option.shown(reduce(getattr, option.path, configuration.settings))
        told = json.dumps(value, ensure_ascii=False)
        comment = "# " if HIDDEN in told else ""
        yield f"{comment}{option.name}: {told}  # {configuration.origins.get(option.name, 'default')}"
