"""The pages of docs/reference/ that are made from the code: HTTP, command line, Python."""
