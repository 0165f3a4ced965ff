"""Questions over databases, from Spider (Yu et al. 2018): answered by queries in SQL, judged by what SQLite returns.

A folder has `questions.jsonl` (id, db_id, question, query, hardness on each line) and the databases as
`database/NAME/NAME.sqlite`. `hardness` is Spider's own level: easy, medium, hard, extra.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal, TypeAlias

from grammar_cache import Constraint
from grammar_cache.grammars.shipped import shipped
from grammar_cache.grammars.sql_schema import sql_grammar
from server.evaluation.sql.database_names import tables_of
from server.evaluation.sql.judge import QueryJudge
from server.evaluation.sql.outline import outline, spelled
from server.evaluation.task import Task

Grammar: TypeAlias = Literal["general", "schema"]
"""The shipped SQL, or that of each question's own database."""
Kind: TypeAlias = tuple[str, str]
"""A database and a level."""

FILE = "questions.jsonl"
INSTRUCTION = (
    "Translate the question into one SQLite query. Answer with the query only, on one line, without explanation. "
    "Use the aliases T1, T2, ... for tables where needed, and no aliases for columns."
)


@dataclass(frozen=True, slots=True)
class Question:
    """One line of the file; `query` is the gold answer."""

    name: str
    database: str
    text: str
    query: str
    hardness: str

    @property
    def kind(self) -> Kind:
        return self.database, self.hardness


@dataclass(frozen=True, slots=True)
class _Database:
    """Database that several questions share. `queries`: short ones, which it answers."""

    path: Path
    outline: str
    constraint: Constraint
    queries: tuple[str, ...]


def read(path: Path, n: int, seed: int, grammar: Grammar = "general") -> list[Task]:
    """`n` tasks of the folder, all with 0. Raises OSError, ValueError, sqlite3.Error.

    They are spread over databases and levels. A larger `n` begins with the same tasks.
    """
    chosen = spread(read_questions(path), seed)[: n or None]
    names = dict.fromkeys(question.database for question in chosen)
    databases = {name: _database(path / "database" / name / f"{name}.sqlite", grammar) for name in names}
    return [_task(question, databases[question.database]) for question in chosen]


def read_questions(path: Path) -> list[Question]:
    """All questions of the folder, in the order of the file. Raises OSError, ValueError."""
    items = [json.loads(line) for line in (path / FILE).read_text(encoding="utf-8").splitlines()]
    return [Question(*(item[key] for key in ("id", "db_id", "question", "query", "hardness"))) for item in items]


def spread(questions: Sequence[Question], seed: int) -> list[Question]:
    """The questions in an order of which every beginning has databases and levels about as often as the whole."""
    shuffled = list(questions)
    Random(seed).shuffle(shuffled)
    return list(_evenly(shuffled))


def _evenly(questions: Sequence[Question]) -> Iterator[Question]:
    """Always the next question of the kind that is most behind its shares."""
    waiting: dict[Kind, list[Question]] = {}
    for question in questions:
        waiting.setdefault(question.kind, []).append(question)
    shares = Counter(trait for question in questions for trait in _traits(question.kind))
    taken: Counter[Kind] = Counter()
    for position in range(1, len(questions) + 1):
        behind = {
            kind: sum(position * shares[trait] - len(questions) * taken[trait] for trait in _traits(kind))
            for kind in waiting
        }
        kind = max(behind, key=behind.__getitem__)
        yield waiting[kind].pop()
        taken.update(_traits(kind))
        if not waiting[kind]:
            del waiting[kind]


def _traits(kind: Kind) -> tuple[Kind, Kind, Kind]:
    """Traits that have a share of their own: the database, the level, and both together."""
    database, hardness = kind
    return (database, ""), ("", hardness), kind


def _database(path: Path, grammar: Grammar) -> _Database:
    if not path.is_file():
        raise FileNotFoundError(f"there is no database {path}")
    tables = tables_of(path)
    constraint = shipped("sql") if grammar == "general" else Constraint("gbnf", sql_grammar(tables))
    return _Database(path, outline(path), constraint, tuple(f"SELECT * FROM {spelled(table)}" for table in tables))


def _task(question: Question, database: _Database) -> Task:
    """The question comes last in the prompt: what is before it is shared by all questions about the database."""
    return Task(
        name=question.name,
        messages=(
            {"role": "system", "content": INSTRUCTION},
            {"role": "user", "content": f"{database.outline}\n\nQuestion: {question.text}"},
        ),
        constraint=database.constraint,
        gold=question.query,
        judge=QueryJudge(database.path, question.query),
        forms={"gbnf": database.constraint.text},
        shorter=database.queries,
    )
