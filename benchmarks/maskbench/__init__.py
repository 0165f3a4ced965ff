"""MaskBench, whole: 11,305 real schemas and their instances, token by token, as its own runner goes through them."""
