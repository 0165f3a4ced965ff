"""Compilation of all loops ahead of their use, by several processes.

A loop that nobody has called yet is compiled where it is first called, one after the other. What loops declare of their
arguments is enough to compile them without a call: those that call no others first, each once, by as many processes as
there are processors. `python -m grammar_cache.loops.compilation` is such a process: it compiles the loops whose names
it reads, and says when each is kept. Whoever calls a loop where many are missing has all of them compiled so.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dis import get_instructions
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from queue import SimpleQueue
from subprocess import PIPE, Popen
from typing import Any

from numba.core.dispatcher import Dispatcher

from grammar_cache.loops.argument_types import argument_types

MOST_PROCESSES = 4
"""Processes that compile, at most: each takes 0.4 GB, and more would wait for each other's loops."""
_MANY = 20
"""Missing loops from which on it pays to begin processes, which takes some seconds."""
_PACKAGE = __name__.partition(".")[0]

_log = logging.getLogger(__name__)


def loops(package: str = _PACKAGE) -> dict[str, Any]:
    """All loops of the modules of a package that are imported, by their full names."""
    found: dict[str, Any] = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package:
            for attribute, value in list(vars(module).items()):
                if isinstance(value, Dispatcher) and value.py_func.__module__ == name:
                    found[f"{name}.{attribute}"] = value
    return found


def processors() -> int:
    """Number of processors that this process may use, up to as many as help."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, MOST_PROCESSES)


def compile_loops(
    found: Mapping[str, Any], processes: int, report: Callable[[int, int], None] = lambda done, count: None
) -> None:
    """Compiles those of some `loops` that aren't kept yet, and keeps them. Where there are any, `report` gets how many
    are done, 0 at first, and how many there are to do. Raises RuntimeError where a process that compiles has failed:
    it has said why.
    """
    missing = {name: loop for name, loop in found.items() if not _is_kept(loop)}
    if not missing:
        return
    report(0, len(missing))
    with ExitStack() as stack:
        workers = [stack.enter_context(_worker()) for _ in range(min(processes, len(missing)))]
        idle: SimpleQueue[Popen[str]] = SimpleQueue()
        for worker in workers:
            idle.put(worker)
        pool = ThreadPoolExecutor(len(workers))
        try:
            for done in _progress(missing, lambda name: pool.submit(_compile_by, idle, name)):
                report(done, len(missing))
        finally:
            for worker in workers:
                worker.kill()
            pool.shutdown(cancel_futures=True)


def compile_many_missing() -> None:
    """Compiles all loops of this package that are imported, if many aren't kept yet: once for each time that more are
    imported. A failure is logged, and the loops are then compiled where they are called.
    """
    program = getattr(sys.modules["__main__"], "__spec__", None)
    if program is None or program.name != __name__:  # those that compile begin no others
        _compile_many(len(loops()))


@cache
def _compile_many(imported: int) -> None:
    found = {name: loop for name, loop in loops().items() if not _is_kept(loop)}
    if len(found) < _MANY:
        return
    _log.warning("compiling %d of %d loops, once: this takes a minute or two", len(found), imported)
    try:
        compile_loops(found, processors())
    except (OSError, RuntimeError):
        _log.exception("no processes compile loops here: each is compiled where it is first called")


def _progress(missing: Mapping[str, Any], begin: Callable[[str], Future[None]]) -> Iterator[int]:
    """Has each loop compiled as soon as all are that it calls; yields how many are, as they are done."""
    name_of = {loop.py_func: name for name, loop in missing.items()}
    order = TopologicalSorter(
        {name: {name_of[f] for f in _called(loop) if f in name_of} - {name} for name, loop in missing.items()}
    )
    order.prepare()
    running: dict[Future[None], str] = {}
    compiled = 0
    while order.is_active():
        running |= {begin(name): name for name in order.get_ready()}
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            future.result()
            order.done(running.pop(future))
            compiled += 1
            yield compiled


def _called(loop: Any) -> list[Callable[..., Any]]:
    """Functions of the loops that a loop calls."""
    function = loop.py_func
    read = {each.argval for each in get_instructions(function) if each.opname == "LOAD_GLOBAL"}
    values = [function.__globals__.get(name) for name in read]
    return [value.py_func for value in values if isinstance(value, Dispatcher)]


def _is_kept(loop: Any) -> bool:
    return all(loop._cache.keeps(kinds, loop.targetctx) for kinds in argument_types(loop.py_func))


@contextmanager
def _worker() -> Iterator[Popen[str]]:
    """A process that finds what this one finds, killed when the block ends. It ends with its input, so that it doesn't
    outlive this one; and who interrupts this one leaves it to that kill.
    """
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    line = [sys.executable, "-P", "-m", __spec__.name]  # else a folder of this name where the user is comes first
    with Popen(line, stdin=PIPE, stdout=PIPE, text=True, env=variables, process_group=0) as process:
        try:
            yield process
        finally:
            process.kill()


def _compile_by(idle: SimpleQueue[Popen[str]], name: str) -> None:
    """Has one of the processes that are idle compile a loop."""
    worker = idle.get()
    assert worker.stdin is not None
    assert worker.stdout is not None
    answer = ""
    with suppress(BrokenPipeError):  # it has failed before, and said so
        worker.stdin.write(f"{name}\n")
        worker.stdin.flush()
        answer = worker.stdout.readline()
    idle.put(worker)
    if answer.strip() != name:
        raise RuntimeError(f"the loop {name} wasn't compiled")


def main() -> None:
    """Compiles loops by their names, one a line, and writes each name when that is done."""
    for line in sys.stdin:
        name = line.strip()
        module, _, attribute = name.rpartition(".")
        loop = getattr(import_module(module), attribute)
        for kinds in argument_types(loop.py_func):
            loop.compile(kinds)
        try:
            os.write(1, f"{name}\n".encode())
        except BrokenPipeError:  # whoever asked was killed, and reads no more
            return


if __name__ == "__main__":
    main()
