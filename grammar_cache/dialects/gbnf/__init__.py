"""GBNF grammars, with the macros and attributes of xgrammar's EBNF."""
