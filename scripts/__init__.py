"""What the Makefile calls, and what makes parts of the documentation."""
