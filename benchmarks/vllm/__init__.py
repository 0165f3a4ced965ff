"""vLLM with our steps in it, beside its own server."""
