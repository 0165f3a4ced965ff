"""Options: how a setting is declared once, and read from the command line, the environment and a file."""
