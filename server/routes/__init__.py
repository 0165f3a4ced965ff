"""The HTTP routes, one resource a file."""
