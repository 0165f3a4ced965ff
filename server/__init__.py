"""What a request meets: HTTP, the command line, decoding, engines, the experiments."""
