"""Defaults of the server: decoding as a request gets it that names nothing but the number of beams."""

from __future__ import annotations

from server.decoding.parameters import Parameters
from server.planning import parameters_for
from server.protocol.chat import ChatRequest


def server_defaults(beams: int) -> Parameters:
    """Parameters of greedy answers, or of so many beams, under a constraint, with a budget of 1."""
    asked = {"messages": [{"role": "user", "content": ""}], "temperature": 0, "swyb": {"beam_width": beams}}
    return parameters_for(ChatRequest.model_validate(asked), 1, constrained=True)
