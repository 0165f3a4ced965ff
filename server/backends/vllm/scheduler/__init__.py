"""Scheduler in vLLM's engine core: beams are scheduled together, and fork."""
