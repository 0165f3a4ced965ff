"""Ways to answer a task: ours, the model alone, other engines."""
