"""The public face: its names, when they are loaded, and the command where another package is called `server`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import grammar_cache
import swyb
from server.evaluation.sql.database_names import tables_of
from tests.documents import ROOT

LOADED = """
import json, sys
before = set(sys.modules)
import swyb
dir(swyb), swyb.__version__
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""


def test_the_names_are_those_of_the_core() -> None:
    """Public names are all of the core's, each the same object, and what the core may not do: open a database."""
    assert set(swyb.__all__) - {*grammar_cache.__all__} == {"__version__", "tables_of"}
    assert swyb.tables_of is tables_of
    for name in grammar_cache.__all__:
        assert getattr(swyb, name) is getattr(grammar_cache, name)


def test_the_listing_is_the_public_names() -> None:
    """`dir()` shows them and nothing else, and `import *` brings them."""
    assert dir(swyb) == sorted(swyb.__all__)
    brought: dict[str, object] = {}
    exec("from swyb import *", brought)
    assert brought.keys() - {"__builtins__"} == set(swyb.__all__)


def test_the_version_is_that_of_the_project() -> None:
    """The version is that of the installed package and of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert swyb.__version__ == metadata.version("swyb") == project["version"]


def test_another_name_is_an_attribute_error() -> None:
    """An unknown name raises AttributeError, which tools that look for names expect."""
    with pytest.raises(AttributeError, match="module 'swyb' has no attribute 'nonsense'"):
        _ = swyb.nonsense
    assert not hasattr(swyb, "Grammar")


def test_importing_it_imports_nothing_slow() -> None:
    """Names are looked up when they are first used."""
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert not {"server", "numpy", "numba", "lark", "torch"} & {*json.loads(done.stdout)}


@pytest.mark.parametrize("name", ["server.py", "server/__init__.py"])
def test_another_server_is_told(tmp_path: Path, name: str) -> None:
    """A module or a package of that name, before ours on the path: one line, and none of its code is run."""
    other = tmp_path / name
    other.parent.mkdir(exist_ok=True)
    other.write_text("raise SystemExit('the other one was run')")
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    command = [sys.executable, "-c", "import sys, swyb; sys.exit(swyb.main())", "--version"]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    place = other.parent if other.stem == "__init__" else other
    told = f"swyb: error: another package named `server` hides ours: {place}\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", told)


def test_the_command_begins_here() -> None:
    """The module runs the command, with our packages first on the path."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "swyb", "--version"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == f"swyb {swyb.__version__}\n"
