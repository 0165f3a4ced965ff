"""The recursive transition network: one automaton per rule, joined by calls."""
