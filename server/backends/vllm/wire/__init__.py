"""What vLLM's processes and the server tell each other."""
