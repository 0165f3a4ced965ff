"""Where compiled grammars and what was learned of them are kept for other processes; docs/store.md has the whole."""
