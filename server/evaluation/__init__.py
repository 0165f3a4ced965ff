"""The paper's experiments, on any model or server."""
