"""Benchmarks: the measurements of `make bench`, beside peers, and the picture of the README."""
