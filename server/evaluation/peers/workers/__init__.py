"""The program of such a process, and an interface for each engine."""
