"""Texts to go on with: the requests of `/v1/completions` and their answers."""
