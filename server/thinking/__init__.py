"""Thoughts before answers: whether there is one, what it leaves to the answer, how both are decoded."""
