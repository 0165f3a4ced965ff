"""Data structures and selection for compiled loops, and a bounded cache. They know no grammar."""
