"""Exact distances of all configurations up to a stack height, computed before anybody asks."""
