"""Artefacts in vLLM's requests: the front end attaches what it has compiled, and the engine core takes it off.

An artefact travels in the one field of sampling parameters that vLLM sends as it is. The core takes it off while the
request waits for its grammar, and isn't scheduled: workers get sampling parameters too, and have no use for it.
"""

from __future__ import annotations

from typing import Any

_KEY = "swyb_budget"


def attach(params: Any, artefact: bytes | None) -> None:
    """Puts an artefact into vLLM's SamplingParams, in place of an older one, or of what a client has sent by its key;
    None takes that off.
    """
    detach(params)
    if artefact is not None:
        params.extra_args = {**(params.extra_args or {}), _KEY: artefact}


def detach(params: Any) -> bytes | None:
    """Takes the artefact out of vLLM's SamplingParams; None where there is none. Dictionaries that copies of the
    parameters share stay as they are.
    """
    found = (params.extra_args or {}).get(_KEY)
    if params.extra_args and _KEY in params.extra_args:
        params.extra_args = {key: value for key, value in params.extra_args.items() if key != _KEY} or None
    return found if isinstance(found, bytes) else None
