"""SQL over the tables and columns of one database: the shipped grammar `sql` with its names replaced.

Tables stand after FROM and JOIN, columns by themselves, behind an alias (`T1.name`) or behind their own table
(`singer.name`). Functions are those that every SQLite has, with as many arguments as they take.

A grammar can't know which aliases and names of results a query has bound, nor that both sides of UNION have as many
columns: that is left to the database. So an alias is no table's name and has at most three letters: longer words that
are no columns are refused where a column is wanted. Results have any name, and are referred to in ORDER BY, GROUP BY
and HAVING only, by the name alone. There is no WITH. Knows no vocabulary and opens no database: `swyb.tables_of` reads
the names of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_letters

from grammar_cache.errors import EmptyLanguage, UnsupportedFeature
from grammar_cache.grammars.reserved_words import other_words
from grammar_cache.grammars.shipped import shipped

_RESERVED = """
add all alter and as autoincrement between case cast check collate commit constraint create cross
current_date current_time current_timestamp default deferrable delete distinct drop else escape except
exists filter foreign from full glob group having in index indexed inner insert intersect into is isnull
join left like limit match natural not nothing notnull null on or order outer over primary raise
recursive references regexp returning right select set table then to transaction union unique update using values
when where window with
"""
RESERVED = frozenset(_RESERVED.split())
"""Words that SQLite doesn't take as a name, in one place or another. `sql.gbnf` leaves them out in any case."""

_NAMES, _WORDS = "# Names.", "# Words."
"""The comments in `sql.gbnf` between which the rules about names are."""
ALIAS_LENGTH = 3
"""Letters that an alias has at most."""

FUNCTIONS: Mapping[tuple[int, int | None], str] = {
    (1, 1): "abs hex length lower sign typeof unicode upper",
    (1, 2): "ltrim round rtrim trim",
    (1, None): "date datetime julianday printf time",
    (2, 2): "ifnull instr nullif",
    (2, 3): "substr substring",
    (2, None): "coalesce max min strftime",
    (3, 3): "iif replace",
}
"""Functions of one row by the fewest and the most arguments."""
AGGREGATES = "avg max min sum total"
"""Functions of many rows, of one argument. `count` and `group_concat` take others, too."""
RANKINGS: Mapping[tuple[int, int | None], str] = {
    (0, 0): "cume_dist dense_rank percent_rank rank row_number",
    (1, 1): "first_value last_value ntile",
    (1, 3): "lag lead",
}
"""Functions that want OVER, likewise."""
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
    text = shipped("sql").text
    common, words = text[: text.index(_NAMES)], text[text.index(_WORDS) :]
    return common + "\n".join([f"{_NAMES} Those of one database.", *_names(tables), *_functions(), "", words])


def _names(tables: Mapping[str, Sequence[str]]) -> Iterable[str]:
    numbered = [f"table-{number}" for number in range(1, len(tables) + 1)]
    yield "statement ::= query"
    yield f"table ::= {' | '.join(numbered)}"
    yield "table-name ::= table | alias"
    qualified = "".join(f' |\n         {rule} "." {rule}-column' for rule in numbered)
    truths = _any_of("true false")
    yield f'column ::= (alias ".")? column-name | {truths}{qualified}'
    for rule, (table, columns) in zip(numbered, tables.items(), strict=True):
        yield f"{rule} ::= {_choice([table])}"
        yield f"{rule}-column ::= {_choice(columns)}"
    yield f"column-name ::= {_choice(column for columns in tables.values() for column in columns)}"
    plain = {table.lower() for table in tables if _PLAIN.fullmatch(table)}
    yield other_words("alias", RESERVED | plain, any_case=True, longest=ALIAS_LENGTH)
    yield "query-alias ::= word"
    yield "result-name ::= word | text | quoted"
    yield "key ::= expression | word"
    yield "having ::= having-test (gap (kw-and | kw-or) gap having-test)*"
    yield "having-test ::= test | word predicate"


def _functions() -> Iterable[str]:
    """The rule `call`, and those of its arguments. Functions match in any case."""
    yield f"count ::= {_any_case('count')}"
    yield f"group-concat ::= {_any_case('group_concat')}"
    yield f"aggregate ::= {_any_of(AGGREGATES)}"
    yield """call ::= (count sp open ("*" | expression) |
          group-concat sp open expression (comma expression)? |
          aggregate sp open expression) close filter? over? |
         (count | group-concat | aggregate) sp open (kw-distinct gap expression | distinct-parenthesis) close filter? |
         ranking over | function"""
    yield f"ranking ::= {_calls(RANKINGS)}"
    yield f"function ::= {_calls(FUNCTIONS)}"


def _calls(functions: Mapping[tuple[int, int | None], str]) -> str:
    return " |\n         ".join(f"({_any_of(names)}) sp {_arguments(*many)}" for many, names in functions.items())


def _arguments(least: int, most: int | None) -> str:
    if most == 0:
        return 'open ")"'
    rest = "" if most == least else "(comma expression)*" if most is None else f"(comma expression){{0,{most - least}}}"
    return " ".join(["open", " comma ".join(["expression"] * least), *filter(None, [rest]), "close"])


def _any_of(names: str) -> str:
    return " | ".join(map(_any_case, names.split()))


def _choice(names: Iterable[str]) -> str:
    """Each name plain, where it may be, or in quotation marks of either kind."""
    return " | ".join(dict.fromkeys(spelling for name in names for spelling in _spellings(name)))


def _spellings(name: str) -> Iterable[str]:
    if _UNPRINTABLE.search(name):
        raise UnsupportedFeature(f"the name {name!r} holds a character that a query can't")
    if _PLAIN.fullmatch(name) and name.lower() not in RESERVED:
        yield _any_case(name)
    for mark in '"`':
        yield _any_case(mark + name.replace(mark, mark * 2) + mark)


def _any_case(text: str) -> str:
    """GBNF of a name in any case. SQLite tells ASCII letters of either case not apart, and others it does."""
    return " ".join(f"[{char.upper()}{char.lower()}]" if char in ascii_letters else _literal(char) for char in text)


def _literal(char: str) -> str:
    return f'"\\{char}"' if char in '"\\' else f'"{char}"'
