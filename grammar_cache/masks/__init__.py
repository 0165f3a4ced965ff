"""Which tokens may come next, as bits."""
