"""Ties vLLM's processes to the front end: a killed server must leave none behind.

Processes left to themselves would wait for their next request for ever. vLLM calls `follow` as a plugin in each of its
processes, before it loads anything; it does nothing in processes that aren't ours.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing.process import BaseProcess

FRONT_END = "SWYB_VLLM_FRONT_END"
"""The environment variable that holds the front end's process id."""


def follow() -> None:
    """Ends this process as soon as the one that started it has ended, however that happens."""
    parent = multiprocessing.parent_process()
    if parent is None or os.environ.get(FRONT_END) in (None, str(os.getpid())):
        return
    # A terminal interrupts all its processes; the front end ends its engine when requests are through.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), name="swyb-lifeline", daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
