"""Tokens still needed: the additive bound, what fits near the horizon, the exact search, and what others claim."""
