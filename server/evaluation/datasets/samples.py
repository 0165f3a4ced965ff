"""A few tasks of each kind that come with the package, in the formats of the real sets: to see that all works."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from server.evaluation.datasets.spider_sample import write_sample

SOURCE = Path(__file__).parents[1] / "samples"


@contextmanager
def samples() -> Iterator[Path]:
    """A folder of all sets, for as long as it is needed: databases are made from scripts."""
    with TemporaryDirectory(prefix="swyb-samples-") as made:
        folder = Path(made)
        for name in ("jme", "bfcl", "ltl"):
            shutil.copytree(SOURCE / name, folder / name)
        write_sample(folder / "spider")
        yield folder
