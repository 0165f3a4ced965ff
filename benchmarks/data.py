"""Data that benchmarks read and write: tasks, tokenizers, rows of results. Knows no engine and takes no time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from tokenizers import Tokenizer

from grammar_cache import Vocabulary
from server.engines.embedded import default_cache

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ROOT = Path(__file__).resolve().parents[1]
DATA_VARIABLE = "SWYB_DATA"
TASKS = Path("jme", "jme.jsonl")

Row = TypeVar("Row")

Split: TypeAlias = Callable[[str], list[int]]
"""Function from a text to its tokens."""


class MissingData(RuntimeError):
    """Error for data to be measured on that isn't there; the message says where it belongs."""


@dataclass(frozen=True, slots=True)
class Task:
    """One item of json-mode-eval: a chat, the schema its answer must meet, and a reference answer."""

    name: str
    messages: tuple[Mapping[str, str], ...]
    schema: str
    completion: str


def read_tasks(count: int = 0) -> list[Task]:
    """The first `count` tasks, all with 0. Raises MissingData."""
    path = data_file(TASKS)
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_task(json.loads(line)) for line in lines[: count or None]]


def data_folder() -> Path:
    """Folder of the evaluation data, which need not be there."""
    return Path(os.environ.get(DATA_VARIABLE) or ROOT.parent / "shared" / "data")


def data_file(name: Path) -> Path:
    """A file of the evaluation data. Raises MissingData."""
    folder = data_folder()
    if not (folder / name).is_file():
        raise MissingData(f"there is no {name} in {folder}: name the data's folder by {DATA_VARIABLE}")
    return folder / name


def tokenizer_folder(name: str) -> Path:
    """The folder of a tokenizer that `scripts/fetch_tokenizers.sh` has fetched. Raises MissingData."""
    folder = default_cache() / "tokenizers" / name
    if not (folder / "tokenizer.json").is_file():
        raise MissingData(f"the tokenizer {name} is not in the cache: scripts/fetch_tokenizers.sh fetches it")
    return folder


def read_vocabulary(folder: Path) -> Vocabulary:
    """The tokens of a tokenizer's folder, kept for the next time."""
    return Vocabulary.from_pretrained(folder, cache=default_cache())


def splitter(folder: Path) -> Split:
    """Function that splits a text into tokens of the folder's tokenizer, without marks of begin and end."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids)


def write_rows(folder: Path, name: str, rows: Sequence[DataclassInstance]) -> None:
    """The rows as JSON lines in `folder/name.jsonl`, in place of those of an earlier run."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows]
    (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


def append_rows(file: Path, rows: Sequence[DataclassInstance]) -> None:
    """The rows as JSON lines at the end of a file, for a run that may be cut off."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as lines:
        lines.write("".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows))


def read_rows(file: Path, kind: Callable[..., Row]) -> list[Row]:
    """Rows that earlier runs left; none where there is no file."""
    if not file.is_file():
        return []
    return [kind(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def _task(item: dict[str, Any]) -> Task:
    return Task(item["id"], tuple(item["prompt"]), item["schema"], item["completion"])
