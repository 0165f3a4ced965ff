"""Masks: the tokens that may come next, as bits."""
