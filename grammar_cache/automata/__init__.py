"""Minimal automata over bytes, made from expressions."""
