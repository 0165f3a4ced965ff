"""Tests of hosts."""
