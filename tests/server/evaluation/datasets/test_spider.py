"""Tasks from Spider: those of our own small sample, and the real ones where they are."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import Constraint
from grammar_cache.compile import parse
from grammar_cache.grammars.sql_schema import RESERVED
from server.checking.membership import Recogniser
from server.evaluation.datasets import spider
from server.evaluation.datasets.spider import Grammar, Question, read_questions, spread
from server.evaluation.datasets.spider_sample import write_sample
from server.evaluation.sql.database_names import tables_of
from server.evaluation.sql.outline import outline
from tests.documents import ROOT

DATA = Path(os.environ.get("SWYB_DATA") or ROOT.parent / "shared" / "data") / "spider"
needs_spider = pytest.mark.skipif(not DATA.is_dir(), reason=f"no Spider questions at {DATA} (set SWYB_DATA)")

QUESTIONS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["easy", "hard"])), max_size=40).map(
    lambda kinds: [Question(str(at), database, "", "", level) for at, (database, level) in enumerate(kinds)]
)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("spider"))


def test_tasks_of_the_sample(sample: Path) -> None:
    """Gold answers are right by their own judge, and belong to both grammars."""
    grammars: tuple[Grammar, ...] = ("general", "schema")
    for grammar in grammars:
        tasks = spider.read(sample, 0, 0, grammar)
        assert sorted(task.name for task in tasks) == [f"sample-{number:02}" for number in range(12)]
        languages = {
            text: Recogniser(parse(Constraint("gbnf", text))) for text in {task.constraint.text for task in tasks}
        }
        assert len(languages) == (1 if grammar == "general" else 2)
        for task in tasks:
            assert task.judge(task.gold).correct, task.name
            assert task.shorter and all(task.judge(text).valid for text in task.shorter)
            for text in (task.gold, *task.shorter):
                assert languages[task.constraint.text].judge(text.encode()).accepted, text
            assert task.forms["gbnf"] == task.constraint.text


def test_gold_answers_differ(sample: Path) -> None:
    """No question of the sample is answered by the gold query of another."""
    tasks = spider.read(sample, 0, 0)
    for task in tasks:
        assert [other.name for other in tasks if task.judge(other.gold).correct] == [task.name]


def test_the_prompt(sample: Path) -> None:
    """The prompt begins with what questions over a database share."""
    prompts: dict[str, set[str]] = {}
    databases = {question.name: question.database for question in read_questions(sample)}
    for task in spider.read(sample, 0, 0):
        system, user = task.messages
        tables, _, question = user["content"].partition("\n\nQuestion: ")
        assert question.endswith(("?", "."))
        prompts.setdefault(databases[task.name], set()).add(system["content"] + tables)
    assert {database: len(shared) for database, shared in prompts.items()} == {"library": 1, "weather": 1}


def test_outline(sample: Path) -> None:
    library = sample / "database" / "library" / "library.sqlite"
    assert outline(library).splitlines() == [
        "CREATE TABLE author (author_id INTEGER, name VARCHAR, country TEXT, born INTEGER);",
        "CREATE TABLE book (book_id INTEGER, title TEXT, author_id INTEGER REFERENCES author(author_id), "
        "year INTEGER, price REAL);",
        'CREATE TABLE loan (loan_id INTEGER, book_id INTEGER REFERENCES book(book_id), reader TEXT, "due date" DATE);',
    ]


def test_outline_of_odd_names(tmp_path: Path) -> None:
    """SQLite makes tables of the same names from it."""
    tables = {'a "b"': ["2nd", "select", "größe"], **{word: [word, "plain"] for word in sorted(RESERVED)}}
    first, second = tmp_path / "first.sqlite", tmp_path / "second.sqlite"
    with sqlite3.connect(first) as connection:
        connection.execute("BEGIN")
        for table, columns in tables.items():
            name, *listed = (f'''"{word.replace('"', '""')}"''' for word in (table, *columns))
            connection.execute(f"CREATE TABLE {name} ({', '.join(listed)})")
        connection.execute('CREATE TABLE child (a INT REFERENCES \'select\', b REFERENCES "order"("plain"))')
    connection.close()
    text = outline(first)
    assert text.splitlines()[-1] == 'CREATE TABLE child (a INT REFERENCES "select", b REFERENCES "order"(plain));'
    with sqlite3.connect(second) as connection:
        connection.executescript(f"BEGIN;{text}COMMIT;")
    connection.close()
    assert tables_of(second) == {**tables, "child": ["a", "b"]}


def test_what_isnt_there(sample: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        spider.read(tmp_path, 0, 0)
    (tmp_path / "questions.jsonl").write_bytes((sample / "questions.jsonl").read_bytes())
    with pytest.raises(FileNotFoundError):
        spider.read(tmp_path, 1, 0)


@given(QUESTIONS, st.integers(0, 3))
def test_an_order_of_all(questions: list[Question], seed: int) -> None:
    """Every question once, the same for a seed, wherever the questions come from."""
    order = spread(questions, seed)
    assert Counter(order) == Counter(questions)
    assert order == spread(questions, seed)


@given(QUESTIONS, st.integers(0, 3))
def test_shares(questions: list[Question], seed: int) -> None:
    """Every beginning has each database and each level as often as the whole, give or take two."""
    order = spread(questions, seed)
    for field in ("database", "hardness"):
        whole = Counter(getattr(question, field) for question in questions)
        taken: Counter[str] = Counter()
        for position, question in enumerate(order, 1):
            taken[getattr(question, field)] += 1
            for value, count in whole.items():
                assert abs(taken[value] - count * position / len(questions)) <= 2


def test_samples(sample: Path) -> None:
    """A smaller sample is the beginning of a larger one; another seed draws another."""
    whole = [task.name for task in spider.read(sample, 0, 5)]
    for count in range(1, 13):
        assert [task.name for task in spider.read(sample, count, 5)] == whole[:count]
    assert len({tuple(task.name for task in spider.read(sample, 6, seed)) for seed in range(10)}) > 1


@needs_spider
def test_gold_queries_of_spider() -> None:
    """All gold queries are right by their own judge, with a semicolon or without."""
    tasks = spider.read(DATA, 0, 0, "schema")
    assert len(tasks) >= 613
    assert [task.name for task in tasks if not task.judge(task.gold.removesuffix(";")).correct] == []
    assert [task.name for task in tasks[::10] if not task.judge(task.gold.removesuffix(";") + ";").correct] == []


@needs_spider
def test_a_sample_of_spider() -> None:
    """Fifty questions already have all levels and nearly all databases about as often as all 613."""
    questions = read_questions(DATA)
    chosen = spread(questions, 0)[:50]
    for field in ("database", "hardness"):
        whole = Counter(getattr(question, field) for question in questions)
        part = Counter(getattr(question, field) for question in chosen)
        assert all(abs(part[value] - 50 * count / len(questions)) <= 2 for value, count in whole.items())
