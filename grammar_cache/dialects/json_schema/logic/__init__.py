"""Logic of values that satisfy several schemas at once: alternatives, negations, conjunctions."""
