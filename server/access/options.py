"""Options of access: an operator's decisions about keys."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class AccessOptions:
    """Options of a server's access."""

    keys: Path | None = None
    """File of keys, read anew when it changes; None: the one key of `Settings.api_key`, or none."""
