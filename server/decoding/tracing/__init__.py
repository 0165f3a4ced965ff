"""Trace of a search: what each step saw, what it kept, and who chose. Nothing of it runs unless it is asked for."""
