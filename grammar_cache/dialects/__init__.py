"""Dialects, which turn a text into an expression: GBNF, Lark, regular expressions, choices, JSON Schema, structural tags."""
