"""Configurations and distances once more, for grammars with a lexer."""
