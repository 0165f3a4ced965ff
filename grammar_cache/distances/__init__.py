"""Tokens still needed: the additive bound, the exact search, and what others claim."""
