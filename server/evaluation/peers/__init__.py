"""Other constraint engines as methods of an evaluation: each in a process of its own, over our model's logits."""
