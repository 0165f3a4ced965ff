"""What every token leads to from a configuration."""
