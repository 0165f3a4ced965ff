"""The shared store between real processes."""
