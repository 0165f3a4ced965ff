"""Real JSON Schemas: which compile, what is accepted, what masks cost."""
