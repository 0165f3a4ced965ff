"""Programs that the Makefile calls, and that make parts of the documentation."""
