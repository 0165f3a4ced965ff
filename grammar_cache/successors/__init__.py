"""Successors of a configuration under every token."""
