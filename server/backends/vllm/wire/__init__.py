"""Messages between vLLM's processes and the server."""
