"""From a text to an expression: GBNF, Lark, regular expressions, choices, JSON Schema."""
