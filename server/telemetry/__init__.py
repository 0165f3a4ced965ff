"""Telemetry: metrics, logs and traces of requests. It knows no HTTP, and no text of a request or an answer."""
