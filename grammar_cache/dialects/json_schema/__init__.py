"""JSON Schema as a grammar over JSON texts."""
