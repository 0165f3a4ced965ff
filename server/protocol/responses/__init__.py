"""OpenAI's newer interface: the requests of `/v1/responses`, their answers and events."""
