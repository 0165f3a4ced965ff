"""Rows of results in a file that survives interruption: each is written when it is there, none is asked for twice.

One JSON object a line. A later line of the same question replaces an earlier one; `settle` writes the file anew with
one line each. A last line that was cut off by a crash is dropped, and its question asked again.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any, Self, TypeAlias

from server.evaluation.members import Members
from server.evaluation.reply import Reply
from server.evaluation.task import Verdict

Key: TypeAlias = tuple[str, str, str, int]
"""Task, method, level and seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(Reply):
    """A method's reply to one task within one budget, and what the judge says.

    `level`: the budget as it was asked for, `budget` what it is for this task. `feasible_tokens`: so few are known to
    be enough, without any grammar. `perplexity`: of the text's tokens under the unconstrained model, after the prompt.
    `unlikely`: tokens that the model gives less than one in a thousand where a likelier one was viable. `verdict`: None
    without a text.
    """

    task: str
    method: str
    level: str
    seed: int
    budget: int
    feasible_tokens: int | None = None
    perplexity: float | None = None
    unlikely: int | None = None
    verdict: Verdict | None = None

    @property
    def key(self) -> Key:
        return self.task, self.method, self.level, self.seed

    @property
    def too_small(self) -> bool:
        """Refused because the budget is below what an answer needs."""
        return self.outcome == "refused" and self.min_tokens is not None and self.budget < self.min_tokens

    @property
    def feasible(self) -> bool:
        """Whether the budget is known to be enough for a valid answer."""
        return self.feasible_tokens is not None and self.feasible_tokens <= self.budget


class Records:
    """The rows of one experiment, and the file that they are kept in. A context; one process at a time writes it."""

    def __init__(self, path: Path) -> None:
        """Reads what is there, and repairs a torn end. Raises ValueError for a line that is no row, OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = _opened(path)
        self._file.seek(0)
        self._rows = {row.key: row for row in _parsed(self._file.read(), path)}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    @property
    def rows(self) -> list[Row]:
        """Rows in the order in which their questions were first answered."""
        return list(self._rows.values())

    def get(self, key: Key) -> Row | None:
        return self._rows.get(key)

    def add(self, row: Row) -> None:
        """Appends a row, in place of an earlier one of the same key."""
        self._rows[row.key] = row
        self._file.write(_line(row))
        self._file.flush()

    def settle(self) -> None:
        """Writes one line a row, all or nothing."""
        made = self._path.with_suffix(".new")
        made.write_text("".join(map(_line, self.rows)), encoding="utf-8")
        made.replace(self._path)
        self._file.close()
        self._file = _opened(self._path)


def read_rows(path: Path) -> list[Row]:
    """The rows of a file that is left as it is. Raises OSError, ValueError."""
    return list({row.key: row for row in _parsed(path.read_text(encoding="utf-8"), path)}.values())


def _opened(path: Path) -> IO[str]:
    """File to append to, cut after its last whole line. Raises OSError where another process writes it."""
    file = path.open("a+", encoding="utf-8", newline="")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise OSError(f"another process is writing {path}") from None
    whole = path.read_bytes().rpartition(b"\n")
    os.truncate(path, len(whole[0]) + len(whole[1]))
    return file


def _parsed(text: str, path: Path) -> list[Row]:
    lines = text.split("\n")[:-1]  # what follows the last line break is torn, or nothing
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(_row(json.loads(line)))
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}, line {number} is no row of results: {error}") from error
    return rows


def _row(item: dict[str, Any]) -> Row:
    known = {field.name for field in fields(Row)}
    values = {name: value for name, value in item.items() if name in known}
    if values.get("verdict") is not None:
        values["verdict"] = _verdict(values["verdict"])
    if values.get("token_ids") is not None:
        values["token_ids"] = tuple(values["token_ids"])
    return Row(**values)


def _verdict(item: dict[str, Any]) -> Verdict:
    counts = item.get("members")
    return Verdict(**{**item, "members": None if counts is None else Members(**counts)})


def _line(row: Row) -> str:
    return json.dumps(asdict(row), ensure_ascii=False) + "\n"
