"""Loops compiled ahead of their use: each once, for the types that it is called with later."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.documents import ROOT

LOOPS = """
from typing import Any

from grammar_cache.loops.array_types import Ints, Longs
from grammar_cache.loops.jit import jit, jit_inline, jit_no_arrays


@jit_inline
def doubled(number: int) -> int:
    return 2 * number


@jit_no_arrays
def total(keys: Ints | Longs) -> int:
    found = 0
    for key in keys:
        found += doubled(key)
    return found


@jit
def totals(keys: Ints, count: int) -> int:
    found = 0
    for _ in range(count):
        found += total(keys) + untold(count)
    return found


@jit_no_arrays
def untold(number: Any) -> int:
    return number + 1


@jit_no_arrays
def odd(keys: Ints) -> int:
    return 1 if len(keys) == 0 else even(keys[1:])


@jit_no_arrays
def even(keys: Ints) -> int:
    {even}
"""
ASK = """
import json
import numpy as np
from grammar_cache.loops.compilation import compile_loops, loops
import own.loops as own

told = []
found = loops("own")
compile_loops(found, 2, lambda done, count: told.append((done, count)))
first, told = told, []
compile_loops(found, 2, lambda done, count: told.append((done, count)))
few, many = np.arange(3, dtype=np.int32), np.arange(3)
answers = [own.total(few), own.total(many), own.totals(few, 2), own.odd(few), own.even(few)]
missed = {name: sum(loop.stats.cache_misses.values()) for name, loop in found.items()}
print(json.dumps([sorted(found), first, told, answers, missed]))
"""
HOLD = """
import time
from grammar_cache.loops.compilation import compile_loops, loops
import own.loops as own

def hold(done: int, count: int) -> None:
    if done:
        print("compiling", flush=True)
        time.sleep(100)

compile_loops(loops("own"), 2, hold)
"""
CALL = """
import json
import sys
import numpy as np
from grammar_cache.loops import compilation
import own.loops as own

every = compilation.loops
compilation.loops = lambda: every("own")
compilation._MANY = int(sys.argv[1])
sys.executable = sys.argv[2] or sys.executable
answers = [own.total(np.arange(3, dtype=np.int32)), own.totals(np.arange(3, dtype=np.int32), 2)]
missing = [name for name, loop in every("own").items() if not compilation._is_kept(loop)]
print(json.dumps([answers, missing]))
"""
DECLARED = """
import json
from grammar_cache import warm_up
from grammar_cache.loops.compilation import loops
from grammar_cache.loops.argument_types import argument_types

warm_up.warm_up(warm_up.letters())
found = {name: (set(loop.overloads), set(argument_types(loop.py_func))) for name, loop in loops().items()}
others = {name: str(had - declared) for name, (had, declared) in found.items() if declared and had - declared}
untold = [name for name, (_, declared) in found.items() if not declared]
print(json.dumps([others, len(found), len(untold)]))
"""


def run(
    program: str, *arguments: str, variables: Mapping[str, str] | None = None, folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-P", "-c", program, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(variables or {})}
    return subprocess.run(line, env=environment, capture_output=True, text=True, check=False, cwd=folder)


def package(folder: Path, even: str) -> dict[str, str]:
    """Writes a package of loops; returns variables for a process that imports it."""
    (folder / "own").mkdir()
    (folder / "own" / "__init__.py").write_text("")
    (folder / "own" / "loops.py").write_text(LOOPS.replace("{even}", even))
    return {"PYTHONPATH": f"{folder}:{ROOT}", "NUMBA_CACHE_DIR": str(folder / "kept")}


def test_loops_are_compiled_once_and_kept(tmp_path: Path) -> None:
    """Loops that call others, those that call each other's names, one for two types, and one that doesn't tell its own.

    What was compiled isn't compiled again, neither ahead nor when it is called.
    """
    done = run(
        ASK,
        variables=package(tmp_path, even="return 1 if len(keys) % 2 == 0 else 0  # and no loop, unlike keys.odd"),
    )
    assert done.returncode == 0, done.stderr
    names, first, again, answers, missed = json.loads(done.stdout)
    assert names == [f"own.loops.{name}" for name in ("doubled", "even", "odd", "total", "totals", "untold")]
    assert first == [[n, 5] for n in range(6)]
    assert again == []
    assert answers == [6, 6, 2 * (6 + 3), 1, 0]
    assert missed == dict.fromkeys(names, 0)


def test_packages_of_the_same_name_where_the_user_is_are_not_compiled(tmp_path: Path) -> None:
    """A server that was installed may be started from a clone: its loops are compiled, not those of the clone."""
    variables = package(tmp_path, even="return 1")
    (tmp_path / "clone" / "own").mkdir(parents=True)
    (tmp_path / "clone" / "own" / "__init__.py").write_text("raise ImportError('this is the clone')")
    done = run(ASK, folder=tmp_path / "clone", variables=variables)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)[-1].values()) == {0}


def test_a_loop_that_can_not_be_compiled_is_told(tmp_path: Path) -> None:
    """An error of the compiler's ends it, with its words, and no process waits."""
    done = run(ASK, variables=package(tmp_path, even='return "odd" - keys'))
    assert done.returncode == 1
    assert "TypingError" in done.stderr


def test_no_process_outlives_the_one_that_waits(tmp_path: Path) -> None:
    """Processes that compile end soon after who began them was killed: they would hold its output open."""
    variables = {**os.environ, **package(tmp_path, even="return 1")}
    line = [sys.executable, "-c", HOLD]
    with subprocess.Popen(line, env=variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "compiling\n"
        process.kill()
        assert process.communicate(timeout=30)[0] == ""


def test_who_calls_a_loop_where_many_are_missing_has_all_compiled(tmp_path: Path) -> None:
    """Users of the library are told so, once. Where few are missing, those that are called are compiled, no others."""
    variables = package(tmp_path, even="return 1")
    few = run(CALL, "6", "", variables={**variables, "NUMBA_CACHE_DIR": str(tmp_path / "few")})
    not_called = [f"own.loops.{name}" for name in ("total", "odd", "even")]  # `total` for one of its two types
    assert json.loads(few.stdout) == [[6, 18], not_called], few.stderr
    assert few.stderr == ""
    many = run(CALL, "5", "", variables=variables)
    assert json.loads(many.stdout) == [[6, 18], []], many.stderr
    assert many.stderr == "compiling 5 of 6 loops, once: this takes a minute or two\n"
    assert run(CALL, "1", "", variables=variables).stderr == ""


def test_loops_are_compiled_where_they_are_called_if_no_process_can(tmp_path: Path) -> None:
    """A place that lets no process begin is told, and has its answers all the same."""
    done = run(CALL, "5", str(tmp_path / "no python"), variables=package(tmp_path, even="return 1"))
    assert json.loads(done.stdout)[0] == [6, 18], done.stderr
    assert "no processes compile loops here" in done.stderr


def test_loops_are_called_with_the_types_that_they_declare() -> None:
    """All that a warm-up calls has the types of its annotations: else it would be compiled twice, once by one process.

    Few loops leave them open.
    """
    done = run(DECLARED)
    assert done.returncode == 0, done.stderr
    others, count, untold = json.loads(done.stdout.splitlines()[-1])
    assert others == {}
    assert untold < 10
    assert count > 200


@pytest.mark.full
def test_nothing_is_left_to_compile_after_it(tmp_path: Path) -> None:
    """Compiles all loops ahead: a warm-up then compiles none but those that leave their types open."""
    program = """
from grammar_cache import warm_up
from grammar_cache.loops.compilation import compile_loops, loops, processors
from grammar_cache.loops.argument_types import argument_types

compile_loops(loops(), processors())
warm_up.warm_up(warm_up.letters())
missed = [n for n, loop in loops().items() if argument_types(loop.py_func) and loop.stats.cache_misses]
print(missed)
"""
    done = run(program, variables={"NUMBA_CACHE_DIR": str(tmp_path)})
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["[]"]), done.stderr


def test_a_process_whose_asker_is_gone_ends_quietly() -> None:
    """A process that compiles ends without a traceback where the server that asked was killed meanwhile."""
    line = [sys.executable, "-m", "grammar_cache.loops.compilation"]
    asked = b"grammar_cache.algorithms.counting_sort.by_key\n"
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(line, input=asked, stdout=write, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
