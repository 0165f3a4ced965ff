"""Tests of arrays whose items may not repeat."""
