"""SQL against SQLite and the Spider queries: the general grammar, and those of single databases."""

from __future__ import annotations

import json
import os
import random
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from grammar_cache import Constraint, EmptyLanguage, UnsupportedFeature
from grammar_cache.compile import parse
from grammar_cache.grammars.shipped import samples, shipped
from grammar_cache.grammars.sql_schema import ALIAS_LENGTH, sql_grammar
from server.checking.membership import Recogniser
from server.evaluation.sql.database_names import tables_of
from tests.documents import ROOT
from tests.grammar_cache.dialects.grammar_sampler import Sampler
from tests.grammar_cache.grammars import oracles
from tests.grammar_cache.grammars.walks import compiled, walk

DATA = Path(os.environ.get("SWYB_DATA") or ROOT.parent / "shared" / "data")
SPIDER = DATA / "spider"
LTL = DATA / "ltl"
needs_spider = pytest.mark.skipif(not SPIDER.is_dir(), reason=f"no Spider queries at {SPIDER} (set SWYB_DATA)")

TABLES = {
    "singer": ["name", "age", "Song ID"],
    "order": ["id", "group", 'with "quotes"'],
    "Straße": ["größe", "back\\slash"],
    "singer_in_concert": ["name", "2nd"],
}

CONCERTS = {
    "stadium": ["stadium_id", "name", "location", "capacity"],
    "singer": ["singer_id", "name", "country", "age", "is_male"],
    "concert": ["concert_id", "title", "day", "year", "stadium_id", "attendance"],
    "singer_in_concert": ["concert_id", "singer_id"],
}
"""Tables that most samples of `sql` ask about."""


def questions() -> Iterator[tuple[str, str]]:
    for line in (SPIDER / "questions.jsonl").read_text().splitlines():
        item = json.loads(line)
        yield item["db_id"], item["query"]


def path_of(database: str) -> Path:
    return SPIDER / "database" / database / f"{database}.sqlite"


@cache
def of_database(database: str) -> Recogniser:
    return Recogniser(parse(Constraint("gbnf", sql_grammar(tables_of(path_of(database))))))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with the tables above."""
    path = tmp_path / "an odd name?#.sqlite"
    with_tables(path, TABLES).close()
    return path


def with_tables(path: Path | str, tables: Mapping[str, Sequence[str]]) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    for table, columns in tables.items():
        connection.execute(f"CREATE TABLE {quoted(table)} ({', '.join(map(quoted, columns))})")
    connection.commit()
    return connection


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@needs_spider
def test_every_gold_query() -> None:
    """Each gold query of Spider belongs, to SQL and to the queries of its own database."""
    general = Recogniser(parse(shipped("sql")))
    pairs = list(questions())
    assert [query for _, query in pairs if not general.judge(query.encode()).accepted] == []
    assert [query for database, query in pairs if not of_database(database).judge(query.encode()).accepted] == []


@needs_spider
def test_gold_queries_of_other_databases() -> None:
    """A query about another database's tables doesn't belong, unless this one could answer it too."""
    for number, (database, query) in enumerate(questions()):
        other = ("singer", "world_1", "car_1")[number % 3]
        if other == database or not of_database(other).judge(query.encode()).accepted:
            continue
        connection = sqlite3.connect(f"{path_of(other).as_uri()}?mode=ro", uri=True)
        assert oracles.sql(query, connection) is None, query
        connection.close()


@needs_spider
def test_drawn_queries_on_spider() -> None:
    """SQLite has nothing against queries drawn for a real database, but for names that they haven't bound."""
    path = path_of("concert_singer")
    tables = tables_of(path)
    columns = {column.lower() for named in tables.values() for column in named}
    sampler = Sampler(parse(Constraint("gbnf", sql_grammar(tables))), seed=3)
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    for _ in range(80):
        text = sampler.text(10)
        assert text is not None
        assert oracles.sql(text.decode(), connection) is None, text.decode()
        qualifier, name = oracles.unknown_name(text.decode(), connection)
        assert len(qualifier) <= ALIAS_LENGTH or qualifier.lower() in map(str.lower, tables), text.decode()
        refers_to_result = re.search(r"\b(order|group)\s+by\b", text.decode(), re.IGNORECASE)
        assert name.lower() in {*columns, ""} or (not qualifier and refers_to_result), text.decode()
    connection.close()


@pytest.mark.skipif(not LTL.is_dir(), reason=f"no LTL formulas at {LTL} (set SWYB_DATA)")
def test_drone_formulas() -> None:
    """Every formula of the drone set belongs to the drone grammar and to full LTL."""
    lines = (LTL / "drone_planning_golden.jsonl").read_text().splitlines()
    formulas = {json.loads(line)["raw_ltl"] for line in lines}
    for name in ("ltl_drone", "ltl"):
        grammar = Recogniser(parse(shipped(name)))
        assert [formula for formula in formulas if not grammar.judge(formula.encode()).accepted] == []


def test_tables_of_a_database(database: Path) -> None:
    """Names are read as they are, whatever is in them, and views and generated columns count."""
    assert tables_of(database) == TABLES
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE sqlitenot (a INTEGER PRIMARY KEY AUTOINCREMENT, b AS (a + 1))")
        connection.execute("CREATE VIEW named AS SELECT name AS called FROM singer")
    connection.close()
    assert tables_of(database) == {**TABLES, "sqlitenot": ["a", "b"], "named": ["called"]}


def test_no_database_is_made(tmp_path: Path) -> None:
    """A file that isn't there stays so."""
    with pytest.raises(sqlite3.Error):
        tables_of(tmp_path / "missing.sqlite")
    assert not list(tmp_path.iterdir())


def test_queries_of_odd_names(database: Path) -> None:
    """Whatever tables and columns are called: generated queries are right for SQLite, and all names are known to it."""
    text = sql_grammar(TABLES)
    grammar, sampler, draw = compiled(text), Sampler(parse(Constraint("gbnf", text)), seed=4), random.Random(4)
    drawn = [sampler.text(9) or b"" for _ in range(60)]
    texts = [*(query.decode() for query in drawn), *(walk(grammar, draw.randint(40, 150), draw) for _ in range(12))]
    connection = sqlite3.connect(database)
    for query in texts:
        assert oracles.sql(query, connection) is None, query
    for table, columns in TABLES.items():
        name = table if table.isascii() and table != "order" else quoted(table)
        for column in columns:
            wanted = column if column.isidentifier() and column.isascii() and column != "group" else quoted(column)
            query = (
                f"SELECT {wanted}, {name}.{wanted}, t1.{wanted} FROM {name} T1 JOIN {name} ON {wanted} = T1.{wanted}"
            )
            configuration = grammar.consume_bytes(grammar.start, query.encode())
            assert configuration is not None and grammar.accepts(configuration), query
    connection.close()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT salary FROM singer",
        "SELECT name FROM singers",
        "SELECT name FROM T1",
        "SELECT order.name FROM singer",
        "SELECT singer.id FROM singer",
        "SELECT name FROM order",
        "SELECT singer FROM name",
        "SELECT name AS total FROM singer WHERE total > 1",
        "SELECT total FROM (SELECT age AS total FROM singer)",
        "SELECT abcd.name FROM singer AS abcd",
        "SELECT year(name) FROM singer",
        "SELECT abs(name, 1) FROM singer",
        "SELECT rank() FROM singer",
        "WITH s AS (SELECT name FROM singer) SELECT name FROM s",
    ],
)
def test_names_of_elsewhere(query: str) -> None:
    """Names of other tables, of other columns and of another table's columns are refused."""
    grammar = Recogniser(parse(Constraint("gbnf", sql_grammar(TABLES))))
    assert not grammar.judge(query.encode()).accepted


def test_natural_queries() -> None:
    """Samples that a database answers are queries of its grammar, but for WITH and outer references to results."""
    connection = with_tables(":memory:", CONCERTS)
    answered = [query for query in samples("sql").accepted if _runs(query, connection)]
    grammar = Recogniser(parse(Constraint("gbnf", sql_grammar(CONCERTS))))
    left = [query for query in answered if not grammar.judge(query.encode()).accepted]
    assert len(answered) > 70
    assert [query for query in left if not query.startswith("WITH ")] == [
        "SELECT sub.name FROM (SELECT name, COUNT(*) AS n FROM singer GROUP BY name) AS sub WHERE sub.n > 1",
        "SELECT AVG(cnt) FROM (SELECT COUNT(*) AS cnt FROM concert GROUP BY stadium_id)",
    ]


def _runs(query: str, connection: sqlite3.Connection) -> bool:
    try:
        connection.execute(query)
    except sqlite3.Error:
        return False
    return True


@pytest.mark.parametrize("query", samples("sql").rejected)
def test_rejected_by_grammars_of_databases(query: str) -> None:
    """A text that isn't SQL isn't a query of any database, whatever its tables."""
    grammar = Recogniser(parse(Constraint("gbnf", sql_grammar({"t": ["a", "b", "c"], "u": ["b", "c"]}))))
    assert not grammar.judge(query.encode()).accepted


def test_aliases_are_no_tables() -> None:
    """A table that is as short as an alias has its own columns only, in any case."""
    grammar = Recogniser(parse(Constraint("gbnf", sql_grammar({"Emp": ["id"], "dep": ["head"]}))))
    assert grammar.judge(b"SELECT e.head, EMP.id FROM emp e JOIN dep AS d2 ON emp.id = d2.head").accepted
    assert not grammar.judge(b"SELECT emp.head FROM emp").accepted


def test_grammars_of_databases_in_llguidance() -> None:
    """llguidance's translation of GBNF reads the grammar of a database, with odd names in it."""
    library = pytest.importorskip("llguidance", reason="the package llguidance is not installed: make bench does it")
    translate = pytest.importorskip("llguidance.gbnf_to_lark").gbnf_to_lark
    for text in (shipped("sql").text, sql_grammar(TABLES), sql_grammar(CONCERTS)):
        assert library.LLMatcher.validate_grammar(library.LLMatcher.grammar_from_lark(translate(text))) == ""


def test_databases_without_queries() -> None:
    """A database without a query is refused, and so are names that no query can hold."""
    with pytest.raises(EmptyLanguage):
        sql_grammar({})
    with pytest.raises(EmptyLanguage):
        sql_grammar({"a": ["b"], "c": []})
    for name in ("a\x00b", "line\nbreak", "\ud800"):
        with pytest.raises(UnsupportedFeature):
            sql_grammar({"a": [name]})
        with pytest.raises(UnsupportedFeature):
            sql_grammar({name: ["a"]})
