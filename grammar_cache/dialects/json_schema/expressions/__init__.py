"""Building expressions for JSON texts, and asking what they match."""
