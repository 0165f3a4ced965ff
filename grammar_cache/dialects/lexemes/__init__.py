"""Terminals given by Python regular expressions, matched as `re` matches them."""
