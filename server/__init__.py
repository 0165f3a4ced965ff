"""Server around the core: HTTP, the command line, decoding, engines, the experiments."""
