"""Which values satisfy several schemas at once: alternatives, negations, conjunctions."""
