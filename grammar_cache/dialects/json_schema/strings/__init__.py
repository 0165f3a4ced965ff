"""Strings: length, pattern, format."""
