"""Conformance kit: what every host is tested with, for authors of other hosts too."""
