"""Benchmarks of hosts: what they compute from answers."""
