"""Rows of an experiment as figures, tables and plots."""
