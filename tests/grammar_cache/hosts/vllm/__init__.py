"""Tests of the plug-in for vLLM."""
