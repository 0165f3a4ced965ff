"""Anthropic's interface: the requests of `/v1/messages`, their answers, events and errors."""
