"""From an expression to a minimal automaton over bytes."""
