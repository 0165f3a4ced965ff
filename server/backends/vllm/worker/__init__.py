"""Worker of vLLM: the filter of logits, and the steps of decoding."""
