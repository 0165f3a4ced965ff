"""Translation of other interfaces' requests into chat requests."""
