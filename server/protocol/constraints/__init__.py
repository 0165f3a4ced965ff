"""Constraints of a request in every shape that a server has for them, and how each is read."""
