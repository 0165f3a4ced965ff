"""Tools: calls in a model's own form, as a grammar and back from its text. It knows no HTTP."""
