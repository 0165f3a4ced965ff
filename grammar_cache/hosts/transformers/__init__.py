"""Host: `transformers`, whose `generate` asks a logits processor at each step."""
