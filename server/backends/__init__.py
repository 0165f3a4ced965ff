"""Backends: work in, pieces of text and answers out."""
