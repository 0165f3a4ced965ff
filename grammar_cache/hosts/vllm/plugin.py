"""Entry of the plug-in: vLLM calls `register` in its front end, its engine core and its workers, before they begin."""

from __future__ import annotations

import logging
import os
import re

from grammar_cache.hosts.vllm.settings import PluginSettings

SUPPORTED = re.compile(r"0\.(32|33)\.")
"""Versions of vLLM whose classes are as the hooks need them."""

log = logging.getLogger("vllm.swyb_budget")


def register() -> None:
    """Puts the hooks into vLLM's classes, where `VLLM_PLUGINS` names the plug-in; else nothing is imported or changed.

    Raises RuntimeError for a version of vLLM that isn't supported, so that no answer lacks its guarantee in silence.
    """
    settings = PluginSettings.of(os.environ)
    if settings is None:
        return
    import vllm

    if not SUPPORTED.match(vllm.__version__):
        raise RuntimeError(f"swyb_budget knows vLLM 0.32 and 0.33, and this is {vllm.__version__}")
    from grammar_cache.hosts.vllm import core_hooks, frontend_hooks

    if frontend_hooks.install(settings):
        core_hooks.install(settings)
        log.info("swyb_budget: structured answers are complete within max_tokens, or refused")
