"""A compiled grammar as bytes, and back with nothing believed."""
