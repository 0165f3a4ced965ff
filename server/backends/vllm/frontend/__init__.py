"""Front end of vLLM, in the server's process: it starts vLLM's engine, sends requests, reads answers."""
