"""Analysis of grammars: how large their texts get, what no text uses, and why a token may not follow."""
