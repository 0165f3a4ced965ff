"""A server that is told to end while answers are under way."""
