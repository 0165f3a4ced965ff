"""Tests of the host transformers."""
