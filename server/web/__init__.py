"""Playground: one page to try the server with, which needs no build and no other host."""
