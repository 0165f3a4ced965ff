"""Structural tags, as xgrammar, vLLM and SGLang write them: formats around and between grammars of every dialect."""
