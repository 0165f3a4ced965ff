"""Engines: prompts in, logits out. They know no grammar."""
