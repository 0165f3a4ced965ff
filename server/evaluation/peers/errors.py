"""Reasons why a peer gives no answer."""

from __future__ import annotations

from server.engines.contract import EngineError


class PeerRefused(ValueError):
    """The peer has no form of the task's language, or doesn't compile it."""


class PeerFailed(EngineError):
    """The peer broke down on this request: it died, took too long, or raised where it may not. Others go on."""
