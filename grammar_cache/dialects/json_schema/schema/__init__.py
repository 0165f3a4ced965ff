"""The schema as it was written: drafts, references, keywords, values."""
