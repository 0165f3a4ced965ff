"""Entry of the plug-in: vLLM calls `register` in its front end, its engine core and its workers, before they begin."""

from __future__ import annotations

import logging
import multiprocessing
import os
import re

from grammar_cache.hosts.vllm.settings import PluginSettings

SUPPORTED = re.compile(r"0\.(32|33)\.")
"""Versions of vLLM whose classes are as the hooks need them."""

_WORKERS, _CORE = "VllmWorker", "EngineCore"
"""Names of vLLM's processes begin so. Workers need no hooks, and the front end's modules would trouble them: vLLM looks
through all that is loaded there.
"""

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
    process = multiprocessing.current_process().name
    if process.startswith(_WORKERS):
        return
    from grammar_cache.hosts.vllm import core_hooks

    if not core_hooks.install(settings):
        return
    if not process.startswith(_CORE):
        from grammar_cache.hosts.vllm import frontend_hooks, stream_hooks

        frontend_hooks.install(settings)
        stream_hooks.install()
    log.info("swyb_budget: structured answers are complete within max_tokens, or refused")
