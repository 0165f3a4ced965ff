"""Dialects, which turn texts into expressions: GBNF, Lark, regexes, choices, JSON Schema, structural tags."""
