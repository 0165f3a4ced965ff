"""Scheduler in vLLM's engine core: masks of single texts; beams are scheduled together, and fork."""
