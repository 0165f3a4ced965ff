"""Tests of options."""
