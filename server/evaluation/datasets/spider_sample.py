"""Twelve questions over two small databases of our own, in the shape of Spider: for tests, and where its data isn't."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from shutil import copyfile

SOURCE = Path(__file__).parents[1] / "samples" / "spider"


def write_sample(folder: Path) -> Path:
    """Fills an empty folder, which `spider.read` then takes, and returns it: the databases are made from scripts.

    Raises sqlite3.Error where there are databases already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    copyfile(SOURCE / "questions.jsonl", folder / "questions.jsonl")
    for script in sorted((SOURCE / "database").glob("*.sql")):
        target = folder / "database" / script.stem / f"{script.stem}.sqlite"
        target.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(target)) as connection:
            connection.executescript(script.read_text(encoding="utf-8"))
    return folder
