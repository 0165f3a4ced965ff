"""Compiled loops that are kept between starts: found by what they are compiled from, and by nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT

LOOPS = """
from typing import NamedTuple

from grammar_cache.loops.jit import jit, jit_inline, jit_no_arrays
from grammar_cache_{number}.constants import FACTOR
from grammar_cache_{number}.inner import added


class Pair(NamedTuple):
    one: int
    other: int


@jit_no_arrays
def told(pair):
    return FACTOR * later(pair.one) + pair.other


@jit_inline
def later(number):
    return added(number)
"""
INNER = """
from grammar_cache.loops.jit import jit_inline


@jit_inline
def added(number, more=0):
    return number + 5 + more
"""
ASK = """
from grammar_cache_{number}.loops import {pair}, told
print(told({pair}(2, 3)), sum(told.stats.cache_hits.values()), sum(told.stats.cache_misses.values()))
"""


class Program:
    """A package of three files, which a process of its own asks for one number."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._package = folder, folder / "grammar_cache_0"
        self._package.mkdir()
        self.pair = "Pair"
        self.files = {"__init__": "", "constants": "FACTOR = 10", "inner": INNER, "loops": LOOPS.format(number=0)}

    def told(self) -> list[int]:
        """Number that it tells, and how often a compiled loop was found and not found. Files keep their times, so that
        these tell nothing.
        """
        for name, text in self.files.items():
            (self._package / f"{name}.py").write_text(text)
            os.utime(self._package / f"{name}.py", (1_000_000_000, 1_000_000_000))
        variables = {**os.environ, "PYTHONPATH": f"{self._folder}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
        line = [sys.executable, "-c", ASK.format(number=0, pair=self.pair)]
        done = subprocess.run(line, env=variables, capture_output=True, text=True, check=True)
        return [int(word) for word in done.stdout.split()]

    def remove(self, name: str) -> None:
        (self._package / f"{name}.py").unlink()


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def test_loops_are_found_again(program: Program) -> None:
    assert program.told() == [73, 0, 1]
    assert program.told() == [73, 1, 0]
    program.files["loops"] = program.files["loops"].replace("\n\n\nclass", "  # another comment\n\n\nclass")
    assert program.told() == [73, 1, 0]


def test_loops_are_compiled_anew_where_what_they_are_made_of_is_another(program: Program) -> None:
    """A loop of another file that is compiled into this one, a default, a constant, and a loop that stands behind."""
    assert program.told() == [73, 0, 1]
    program.files["inner"] = INNER.replace("+ 5", "+ 6")
    assert program.told() == [83, 0, 1]
    program.files["inner"] = INNER.replace("more=0", "more=2")
    assert program.told() == [93, 0, 1]
    program.files["constants"] = "FACTOR = 20"
    assert program.told() == [183, 0, 1]
    program.files["loops"] = program.files["loops"].replace("added(number)\n", "-added(number)\n")
    assert program.told() == [-177, 0, 1]


def test_a_cache_that_names_what_is_gone_is_no_cache(program: Program) -> None:
    """Types that have another name: numba's own cache ends in an error."""
    assert program.told() == [73, 0, 1]
    program.pair = "Both"
    program.files["loops"] = program.files["loops"].replace("class Pair", "class Both")
    assert program.told() == [73, 0, 1]
    assert program.told() == [73, 1, 0]


def test_loops_whose_parts_are_in_another_module_are_compiled_anew(program: Program) -> None:
    """A compiled loop imports the modules of its parts: it can't be used once they are gone."""
    assert program.told() == [73, 0, 1]
    program.files["moved"] = program.files.pop("inner")
    program.remove("inner")
    program.files["loops"] = program.files["loops"].replace("grammar_cache_0.inner", "grammar_cache_0.moved")
    assert program.told() == [73, 0, 1]
    assert program.told() == [73, 1, 0]
