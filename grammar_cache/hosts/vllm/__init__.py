"""Host: vLLM, as a plug-in that is inert unless `VLLM_PLUGINS` names it."""
