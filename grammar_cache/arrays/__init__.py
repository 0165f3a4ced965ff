"""Named arrays as bytes, checked when they are read, and kept on disk."""
