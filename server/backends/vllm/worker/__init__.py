"""What runs in vLLM's workers: the filter of logits, and the steps of decoding."""
