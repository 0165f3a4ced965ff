"""`swyb check`: whether a text belongs to a language, and why it would not be generated."""
