"""Judging queries: what counts as one, what SQLite may do for it, and when two results are the same."""

from __future__ import annotations

import sqlite3
from collections import Counter
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.compile import parse
from grammar_cache.constraint import Constraint
from grammar_cache.grammars import shipped
from grammar_cache.grammars.sql_schema import sql_grammar
from server.evaluation.datasets.spider_sample import write_sample
from server.evaluation.sql.comparison import same_result
from server.evaluation.sql.database_names import tables_of
from server.evaluation.sql.execution import Allowance, QueryFailed, Row, run_query
from server.evaluation.sql.judge import QueryJudge
from server.evaluation.sql.syntax import syntax_error, without_distinct
from tests.grammar_cache.dialects.grammar_sampler import Sampler

VALUES = st.sampled_from([0, 1, 1.0, 2, "1", "a", None, b"a"])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("spider")) / "database" / "library" / "library.sqlite"


# Syntax.


@pytest.mark.parametrize(
    "text",
    [
        *shipped.samples("sql").accepted,
        "SELECT a FROM t;",
        "  select a from t\n",
        "WITH x AS (SELECT a FROM t) SELECT * FROM x UNION SELECT b FROM u",
        "SELECT rank() OVER (PARTITION BY a ORDER BY b) FROM t",
        f"SELECT {'(' * 90}1{')' * 90}",
    ],
)
def test_queries(text: str) -> None:
    assert syntax_error(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        "The query is SELECT a FROM t",
        "SELECT a FROM t WHERE",
        "SELECT count(* FROM t",
        "SELECT a FROM t WHERE b = 'it's'",
        "SELECT 'a",
        "SELECT a FROM t; SELECT b FROM t",
        "(SELECT a FROM t)",
        "FROM t SELECT a",
        "VALUES (1)",
        "EXPLAIN SELECT a FROM t",
        "PRAGMA table_info(t)",
        "DELETE FROM t",
        "WITH x AS (SELECT 1) DELETE FROM t",
        "CREATE TABLE u AS SELECT a FROM t",
        "SHOW TABLES",
        f"SELECT {'(' * 50_000}",
    ],
)
def test_no_queries(text: str) -> None:
    assert syntax_error(text)


def test_queries_that_are_generated(library: Path) -> None:
    """sqlglot takes queries drawn from the grammar of a database."""
    sampler = Sampler(parse(Constraint("gbnf", sql_grammar(tables_of(library)))), seed=6)
    for _ in range(60):
        text = sampler.text(8)
        assert text is not None
        assert syntax_error(text.decode()) is None, text.decode()


def test_distinct_is_taken_out() -> None:
    query = "SELECT DISTINCT a, count(distinct b), 'distinct', \"Distinct\", distinctly FROM t -- distinct"
    assert without_distinct(query) == "SELECT  a, count( b), 'distinct', \"Distinct\", distinctly FROM t -- distinct"


# Execution.


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO loan (reader) VALUES ('Eve')",
        "UPDATE book SET price = 0",
        "DROP TABLE book",
        "CREATE TEMP TABLE mine (a)",
        "ATTACH 'other.sqlite' AS other",
        "VACUUM INTO 'copy.sqlite'",
        "PRAGMA writable_schema = 1",
        "SELECT load_extension('x')",
        "BEGIN",
        "SELECT 1; SELECT 2",
        "SELECT missing FROM book",
        "SELECT ?",
        "SELECT 'a\0'",
        "SELECT '\ud800'",
        "SELECT hex(zeroblob(100000000))",
    ],
)
def test_what_isnt_run(library: Path, query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a query is after, it fails, and no byte changes."""
    monkeypatch.chdir(tmp_path)
    before = library.read_bytes()
    with pytest.raises(QueryFailed) as caught:
        run_query(library, query)
    assert not caught.value.syntax
    assert library.read_bytes() == before
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "query",
    ["SELECT", "SELECT name, FROM author", "SELECT {name} FROM author", "SELECT name FROM author GROUP BY"],
)
def test_what_only_sqlite_refuses(library: Path, query: str) -> None:
    """sqlglot is lenient; SQLite's parser has the last word on what it runs, and the verdict tells."""
    with pytest.raises(QueryFailed) as caught:
        run_query(library, query)
    assert caught.value.syntax
    verdict = QueryJudge(library, "SELECT name FROM author")(query)
    assert verdict.syntax and not verdict.valid and verdict.correct is False
    assert verdict.detail.startswith("SQLite's parser: ")


def test_queries_without_end(library: Path) -> None:
    """Work and rows are bounded."""
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    with pytest.raises(QueryFailed, match="too many instructions"):
        run_query(library, f"{numbers} SELECT max(i) FROM n", Allowance(instructions=100_000))
    result = run_query(library, f"{numbers} SELECT i FROM n", Allowance(rows=3))
    assert result.rows == [(1,), (2,), (3,)] and not result.whole
    exact = run_query(library, f"{numbers} SELECT i FROM n LIMIT 3", Allowance(rows=3))
    assert exact.rows == result.rows and exact.whole


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a?b#.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT CAST(x'61ff62' AS TEXT) AS a")
    connection.close()
    assert run_query(path, "SELECT a FROM t").rows == [("ab",)]
    with pytest.raises(FileNotFoundError):
        run_query(tmp_path / "missing.sqlite", "SELECT 1")


# Comparison.


def brute_force(gold: list[Row], answer: list[Row], ordered: bool) -> bool:
    """Whether two results are equal by the definition: every order of the columns is tried."""
    if not gold and not answer:
        return True
    if len(gold) != len(answer) or len(gold[0]) != len(answer[0]):
        return False
    for order in permutations(range(len(gold[0]))):
        moved = [tuple(row[column] for column in order) for row in answer]
        if moved == gold if ordered else Counter(moved) == Counter(gold):
            return True
    return False


@st.composite
def two_results(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """Two results, the second often the first with its columns and rows moved, and perhaps one value changed."""
    width = draw(st.integers(1, 4))
    rows = st.lists(st.tuples(*[VALUES] * width), max_size=5)
    gold: list[Row] = draw(rows)
    if draw(st.booleans()):
        return gold, draw(rows)
    order = draw(st.permutations(range(width)))
    answer: list[Row] = [tuple(row[column] for column in order) for row in gold]
    if draw(st.booleans()):
        answer = list(draw(st.permutations(answer)))
    if len(answer) > 0 and draw(st.booleans()):
        place = draw(st.integers(0, len(answer) - 1))
        answer[place] = (draw(VALUES), *answer[place][1:])
    return gold, answer


@given(two_results(), st.booleans())
def test_results_against_brute_force(results: tuple[list[Row], list[Row]], ordered: bool) -> None:
    gold, answer = results
    assert same_result(gold, answer, ordered=ordered) == brute_force(gold, answer, ordered)
    assert same_result(answer, gold, ordered=ordered) == brute_force(gold, answer, ordered)


@pytest.mark.parametrize(
    ("gold", "answer", "unordered", "ordered"),
    [
        ([], [], True, True),
        ([(1,)], [], False, False),
        ([(1, 2)], [(2, 1)], True, True),
        ([(1,), (1,), (2,)], [(1,), (2,), (2,)], False, False),
        ([(1,), (2,)], [(2,), (1,)], True, False),
        ([(1, 2), (2, 1)], [(1, 1), (2, 2)], False, False),
        ([(1,)], [(1.0,)], True, True),
        ([(1,)], [("1",)], False, False),
        ([(1,)], [(1, 1)], False, False),
    ],
)
def test_results(gold: list[Row], answer: list[Row], unordered: bool, ordered: bool) -> None:
    assert same_result(gold, answer, ordered=False) is unordered
    assert same_result(gold, answer, ordered=True) is ordered


def test_wide_results() -> None:
    """Forty columns, many of them equal, have too many orders to be tried."""
    gold: list[Row] = [(*[None] * 30, *range(row, row + 10)) for row in range(50)]
    answer = [row[::-1] for row in gold[::-1]]
    assert same_result(gold, answer, ordered=False)
    assert not same_result(gold, answer, ordered=True)
    assert not same_result(gold, [*answer[:-1], answer[0]], ordered=False)


# Verdicts.

NAMES = "SELECT name, country FROM author"


@pytest.mark.parametrize(
    ("gold", "answer", "correct"),
    [
        (NAMES, "select country, name AS called from author;", True),
        (NAMES, "SELECT name, country FROM author ORDER BY born DESC", True),
        (f"{NAMES} ORDER BY born", f"{NAMES} ORDER BY born DESC", False),
        (f"{NAMES} ORDER BY born", f"{NAMES} ORDER BY author_id", True),
        (NAMES, "SELECT name FROM author", False),
        (NAMES, f"{NAMES} LIMIT 3", False),
        (f"{NAMES} WHERE born < 0", "SELECT title FROM book WHERE year < 0", True),
        ("SELECT title FROM book", "SELECT title FROM book UNION SELECT title FROM book", False),
    ],
)
def test_verdicts(library: Path, gold: str, answer: str, correct: bool) -> None:
    verdict = QueryJudge(library, gold)(answer)
    assert verdict.syntax and verdict.valid
    assert verdict.correct is correct
    assert bool(verdict.detail) is not correct


def test_distinct_in_verdicts(library: Path) -> None:
    """DISTINCT doesn't count by default, as in the official evaluation."""
    gold, answer = "SELECT DISTINCT title FROM book", "SELECT title FROM book"
    assert QueryJudge(library, gold)(answer).correct
    assert QueryJudge(library, answer)(gold).correct
    assert not QueryJudge(library, gold, keep_distinct=True)(answer).correct
    assert not QueryJudge(library, answer, keep_distinct=True)(gold).correct


def test_answers_that_fail(library: Path) -> None:
    judge = QueryJudge(library, NAMES)
    refused, failed = judge("Sure! SELECT name FROM author"), judge("SELECT nobody FROM author")
    assert not refused.syntax and not refused.valid and refused.correct is False
    assert refused.detail.startswith("sqlglot: ")
    assert failed.syntax and not failed.valid and failed.correct is False
    assert failed.detail == "SQLite: no such column: nobody"


def test_gold_queries_that_fail(library: Path) -> None:
    """A gold query that fails is no verdict on the answer."""
    with pytest.raises(QueryFailed):
        QueryJudge(library, "SELECT nobody FROM author")(NAMES)
    with pytest.raises(QueryFailed, match="more than 2 rows"):
        QueryJudge(library, NAMES, allowance=Allowance(rows=2))(NAMES)
    large = QueryJudge(library, f"{NAMES} LIMIT 2", allowance=Allowance(rows=2))(NAMES)
    assert large.valid and large.correct is False
