"""What runs in the server: it starts vLLM's engine, sends requests, reads answers."""
