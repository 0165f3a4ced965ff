"""The folders: what they are, how large, in which order they import, and that the architecture page says so."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents import ROOT, Document

ARCHITECTURE = Document("docs/architecture.md")
WHERE = Document("docs/where.md")

ORDER = (
    ("loops",),
    ("algorithms", "errors", "limits"),
    ("arrays", "constraint", "expression", "interrupt"),
    ("automata", "grammars", "special_tokens"),
    ("dialects", "network", "vocabulary"),
    ("configurations",),
    ("successors",),
    ("distances",),
    ("masks",),
    ("grammar",),
    ("unique_items",),
    ("analysis", "compile", "offline"),
    ("artefact",),
    ("store", "warm_up"),
    ("hosts",),
)
"""Order of `grammar_cache`, from the ground up: each imports from those before it, and within itself."""

MOST_FILES = 17
MOST_LINES = 60
MOST_FILE_LINES = 340
PACKAGES = ("grammar_cache", "server", "benchmarks", "tests")

_FRAMEWORKS = r"(fastapi|starlette|uvicorn|pydantic|torch|transformers|vllm)\b"
ALLOWED = {
    "grammar_cache/constraint.py": r"pydantic\b",
    "grammar_cache/hosts/transformers": r"(torch|transformers)\b",
    "grammar_cache/hosts/vllm": r"(fastapi|starlette|torch|vllm)\b",
}
"""Frameworks that some files of a folder are about, where others may not import them."""
FORBIDDEN = {
    "grammar_cache": rf"server\b|{_FRAMEWORKS}",
    "server/decoding": rf"server\.(?!decoding\b)|{_FRAMEWORKS}",
    "server/engines": r"server\.(?!engines\b)|grammar_cache\.(?!vocabulary\b|errors\b)|(fastapi|starlette|uvicorn)\b",
    "server/backends": r"server\.(?!backends\b|engines\b|decoding\b|interrupts\b|grammars\.exchange\b)"
    r"|(fastapi|starlette|uvicorn)\b",
    "server/backends/vllm/wire": r"server\.backends\.vllm\.(?!wire\b)",
    "server/backends/vllm/frontend": r"server\.backends\.vllm\.(?!wire\b|frontend\b)",
    "server/backends/vllm/scheduler": r"server\.backends\.vllm\.(?!wire\b|scheduler\b)",
    "server/backends/vllm/worker": r"server\.backends\.vllm\.(?!wire\b|worker\b)",
}
"""Modules that the files of a folder don't import."""


def modules(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def imports(path: Path) -> Iterator[str]:
    """The modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def first_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text()))
    assert text, f"{path} doesn't say what it is"
    return text.split("\n", 1)[0]


def test_imports_go_down() -> None:
    """Folders and files at the root of `grammar_cache` import in one order."""
    level = {name: number for number, names in enumerate(ORDER) for name in names}
    core = ROOT / "grammar_cache"
    for path in modules("grammar_cache"):
        parts = path.relative_to(core).with_suffix("").parts
        if parts == ("__init__",):
            continue
        for module in imports(path):
            there = module.split(".")
            if there[0] == "grammar_cache" and len(there) > 1 and there[1] != parts[0]:
                assert level[there[1]] < level[parts[0]], f"{path} imports {module}"
    told = [line.split()[1:] for line in ARCHITECTURE.text.split("```")[1].strip().splitlines()]
    assert [tuple(names) for names in told] == list(ORDER)


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_nothing_flows_back_up(folder: str) -> None:
    """The core, decoding, engines and vLLM's processes import nothing of what the page says they don't know."""
    for path in modules(folder):
        place = str(path.relative_to(ROOT))
        allowed = next((found for start, found in ALLOWED.items() if place.startswith(start)), "(?!)")
        for module in imports(path):
            if not re.match(allowed, module):
                assert not re.match(FORBIDDEN[folder], module), f"{path.name} imports {module}"


def test_only_the_store_knows_databases() -> None:
    """No file of `grammar_cache` outside `store/` imports a library of databases."""
    for path in modules("grammar_cache"):
        if "store" not in path.parts:
            found = {module.partition(".")[0] for module in imports(path)} & {"sqlite3", "redis", "dbm", "sqlalchemy"}
            assert not found, f"{path} imports {found}"


def test_folders_of_the_server_hold_no_circle() -> None:
    """A folder or file at the root of `server/` is never imported by what it imports."""
    needs: dict[str, set[str]] = defaultdict(set)
    for path in modules("server"):
        here = path.relative_to(ROOT / "server").with_suffix("").parts[0]
        there = {module.split(".")[1] for module in imports(path) if module.startswith("server.")}
        needs[here] |= there - {here}
    done: set[str] = set()
    while ready := {name for name, needed in needs.items() if name not in done and needed <= done}:
        done |= ready
    assert not set(needs) - done, f"these import each other: {sorted(set(needs) - done)}"


def test_the_architecture_has_every_folder() -> None:
    """Each folder's line in the page is the first one of its docstring, and no folder is missing."""
    told = dict(re.findall(r"^\| `([\w/]+)/` \| (.*) \|$", ARCHITECTURE.text, re.MULTILINE))
    files = [path for path in modules("grammar_cache", "server") if path.name == "__init__.py"]
    folders = {str(path.parent.relative_to(ROOT)): first_line(path).rstrip(".") for path in files}
    assert told == {name: line for name, line in folders.items() if "/" in name}


def test_every_file_says_what_it_is() -> None:
    """Each module has a first line, and within a folder no two are alike."""
    lines: dict[Path, list[str]] = defaultdict(list)
    for path in modules("grammar_cache", "server", "benchmarks"):
        lines[path.parent].append(first_line(path))
    for folder, told in lines.items():
        assert len(told) == len(set(told)), folder


def test_no_folder_is_crowded() -> None:
    """A listing is read at a glance."""
    for folder in {path.parent for path in modules(*PACKAGES)}:
        files = [path for path in folder.iterdir() if path.is_file()]
        assert len(files) <= MOST_FILES, f"{folder} has {len(files)} files"


def test_no_function_is_long() -> None:
    """Decorators count."""
    for path in modules(*PACKAGES, "examples", "scripts"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                begin = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                assert (node.end_lineno or begin) - begin < MOST_LINES, f"{path}: {node.name}"


def test_no_file_is_long() -> None:
    """A file is read in one sitting."""
    for path in modules("grammar_cache", "server", "benchmarks"):
        assert path.read_text().count("\n") <= MOST_FILE_LINES, path


def test_classes_have_names_of_their_own() -> None:
    """No two public classes of `grammar_cache` have one name."""
    found: dict[str, Path] = {}
    for path in modules("grammar_cache"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                assert node.name not in found, f"{node.name}: {path} and {found[node.name]}"
                found[node.name] = path


def test_the_life_of_a_request_is_short_and_its_files_are_there() -> None:
    """The life of a request has at most ten steps, numbered; whatever file a page of the structure names exists."""
    life = ARCHITECTURE.text.split("\n## ")[0]
    steps = re.findall(r"^(\d+)\. ", life, re.MULTILINE)
    assert steps == [str(number) for number in range(1, len(steps) + 1)]
    assert len(steps) <= 10
    for page in (ARCHITECTURE, WHERE):
        for file in re.findall(r"`((?:server|grammar_cache|tests|benchmarks)/[^`*]*)`", page.text):
            assert (ROOT / file).exists(), file


def test_each_change_has_one_place() -> None:
    """Each row of the page of places names first a file or a folder that exists, and no two begin with the same one."""
    rows = re.findall(r"^\| (?!To change|---)[^|]+ \| `([^`]+)`", WHERE.text, re.MULTILINE)
    assert len(rows) == len(set(rows)) >= 14
    assert all((ROOT / place).exists() for place in rows)
