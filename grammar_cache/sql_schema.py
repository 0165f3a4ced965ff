"""SQL over the tables and columns of one database: the shipped grammar `sql` with its names replaced.

Tables stand after FROM and JOIN, columns by themselves, behind an alias (`T1.name`) or behind their own table
(`singer.name`). Aliases are T1 to T99, names of results C1 to C9. A grammar can't know which aliases a query has bound,
nor that both sides of UNION have as many columns: that is left to the database. Knows no vocabulary and opens no
database; `server.database_names` reads names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from grammar_cache.errors import EmptyLanguage, UnsupportedFeature
from grammar_cache.shipped import shipped

_RESERVED = """
add all alter and as autoincrement between case cast check collate commit constraint create cross
current_date current_time current_timestamp default deferrable delete distinct drop else escape except
exists filter foreign from full glob group having in index indexed inner insert intersect into is isnull
join left like limit match natural not nothing notnull null on or order outer over primary raise
references regexp returning right select set table then to transaction union unique update using values
when where window with
"""
RESERVED = frozenset(_RESERVED.split())
"""Words that SQLite doesn't take as a name, in one place or another. `sql.gbnf` leaves them out in any case."""

_NAMES = "# Names."
"""The comment in `sql.gbnf` behind which the rules about names are."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNPRINTABLE = re.compile("[\x00-\x1f\ud800-\udfff]")


def sql_grammar(tables: Mapping[str, Sequence[str]]) -> str:
    """GBNF for queries over these tables, each with the names of its columns. Names are matched in any case.

    Names that aren't plain words stand in double quotes. Raises EmptyLanguage without tables or where a table has no
    columns, UnsupportedFeature for names with control characters or lone surrogates.
    """
    if not tables:
        raise EmptyLanguage("a database without tables has no query")
    for table, columns in tables.items():
        if not columns:
            raise EmptyLanguage(f"the table {table!r} has no columns")
    common, _, _ = shipped("sql").text.partition(_NAMES)
    return common + "\n".join([f"{_NAMES} Those of one database.", *_rules(tables)]) + "\n"


def _rules(tables: Mapping[str, Sequence[str]]) -> Iterable[str]:
    numbered = [f"table-{number}" for number in range(1, len(tables) + 1)]
    yield f"table ::= {' | '.join(numbered)}"
    yield "table-name ::= table | alias"
    qualified = "".join(f'\n         | {rule} "." {rule}-column' for rule in numbered)
    yield f'column ::= (alias ".")? column-name{qualified}'
    for rule, (table, columns) in zip(numbered, tables.items(), strict=True):
        yield f"{rule} ::= {_spelled(table)}"
        yield f"{rule}-column ::= {_choice(columns)}"
    yield f"column-name ::= {_choice(column for columns in tables.values() for column in columns)}"
    yield "result-name ::= [Cc] [1-9]"
    yield "alias ::= [Tt] [1-9] [0-9]?"


def _choice(names: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(_spelled(name) for name in names))


def _spelled(name: str) -> str:
    """A name as GBNF. SQLite tells ASCII letters of either case not apart, and others it does."""
    if _UNPRINTABLE.search(name):
        raise UnsupportedFeature(f"the name {name!r} holds a character that a query can't")
    if _PLAIN.fullmatch(name) and name.lower() not in RESERVED:
        return " ".join(f"[{char.upper()}{char.lower()}]" if char.isalpha() else f'"{char}"' for char in name)
    quoted = '"' + name.replace('"', '""') + '"'
    escaped = quoted.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
