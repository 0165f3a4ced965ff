"""The commands of `swyb`, one a file."""
