"""Thoughts in requests: the fields that ask for them, in all words that there are, and what they come to."""
