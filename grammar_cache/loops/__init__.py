"""Compiled loops: how they are declared, what types they take, and how they are compiled and kept."""
