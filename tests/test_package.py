"""The package: what a wheel and an sdist carry, that they work alone, and which versions of Python are meant."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from tests.documents import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
NAME = f"{PROJECT['name']}-{PROJECT['version']}"

ALONE = """
import sys
import grammar_cache, server, swyb
from swyb import Constraint, compile_grammar, shipped, shipped_names
assert not {"torch", "transformers"} & sys.modules.keys()
print(swyb.__version__, len(shipped_names()), shipped("iso_date").kind)
print(swyb.__file__, *grammar_cache.__path__, *server.__path__, sep="\\n")
"""


@pytest.fixture(scope="module")
def sources() -> set[str]:
    """The repository's files: those that git knows or would add."""
    if not (ROOT / ".git").exists():
        pytest.skip("no git repository: what belongs to it is not known")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {name for name in listed if (ROOT / name).is_file() and not (ROOT / name).is_symlink()}


@pytest.fixture(scope="module")
def built(sources: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that is made of it, as `make package` makes them."""
    copy, target = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    for name in sources:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(copy)]
    done = subprocess.run(command, cwd=target, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def test_the_wheel_has_the_packages(built: Path, sources: set[str]) -> None:
    """All of their files, code or not, the public face, and nothing else."""
    with ZipFile(built / f"{NAME}-py3-none-any.whl") as wheel:
        found = {name for name in wheel.namelist() if not name.startswith(f"{NAME}.dist-info/")}
        about = {name.removeprefix(f"{NAME}.dist-info/") for name in wheel.namelist()} - found
    assert found == {name for name in sources if re.match(r"(grammar_cache|server)/|swyb\.py$", name)}
    assert {"METADATA", "licenses/LICENSE", "entry_points.txt"} <= about


def test_the_sdist_is_the_repository(built: Path, sources: set[str]) -> None:
    """The sdist has the tests and all that they read; setuptools adds what it says of the package."""
    with tarfile.open(built / f"{NAME}.tar.gz") as archive:
        found = {member.name.removeprefix(f"{NAME}/") for member in archive if member.isfile()}
    added = {name for name in found if re.match(r"PKG-INFO$|setup\.cfg$|swyb\.egg-info/", name)}
    assert found - added == sources


def test_the_wheel_works_alone(built: Path, sources: set[str], tmp_path: Path) -> None:
    """The wheel works in a folder of its own, far from the repository: the public face, and the command."""
    there = tmp_path / "there"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(there)]
    subprocess.run([*pip, str(built / f"{NAME}-py3-none-any.whl")], check=True, capture_output=True)
    variables = {**os.environ, "PYTHONPATH": str(there)}
    lines = [[sys.executable, "-c", ALONE], [str(there / "bin" / "swyb"), "--version"]]
    told = [
        subprocess.run(line, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True).stdout
        for line in lines
    ]
    places = [str(there / name) for name in ("swyb.py", "grammar_cache", "server")]
    grammars = len([name for name in sources if name.endswith("/grammar.gbnf")])
    assert told[0].splitlines() == [f"{PROJECT['version']} {grammars} gbnf", *places]
    assert told[1] == f"swyb {PROJECT['version']}\n"


def test_versions_of_python_agree() -> None:
    """Python versions that the description lists are those that CI runs on, and the range allows them."""
    listed = [name.split(" :: ")[-1] for name in PROJECT["classifiers"] if re.search(r"Python :: 3\.", name)]
    assert yaml.safe_load(WORKFLOW.read_text())["jobs"]["test"]["strategy"]["matrix"]["python"] == listed
    assert list(SpecifierSet(PROJECT["requires-python"]).filter(listed)) == listed
    assert not SpecifierSet(PROJECT["requires-python"]).contains("3.10")


def test_ci_runs_what_people_run() -> None:
    """The steps of CI's tests are the verbs of a change."""
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["test"]["steps"]
    verbs = [step["run"].split()[1] for step in steps if "run" in step]
    assert verbs == ["install", "check", "test", "package"]
