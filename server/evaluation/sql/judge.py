"""Judgement of an answer as a query: its syntax by sqlglot, whether SQLite runs it, whether its result is right."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from server.evaluation.sql.comparison import same_result
from server.evaluation.sql.execution import Allowance, QueryFailed, Result, run_query
from server.evaluation.sql.syntax import syntax_error, without_distinct
from server.evaluation.task import Verdict


@dataclass(frozen=True, slots=True)
class QueryJudge:
    """Judges answers to one question against its gold query, by the rules of Spider's official evaluation.

    The order of rows matters where the gold query has ORDER BY, in a sub-query too. DISTINCT, as there by default, is
    taken out of both queries before their results are compared, unless `keep_distinct`. Unlike there, nothing is mended
    in the answer: `> =` is wrong.
    """

    database: Path
    gold: str
    keep_distinct: bool = False
    allowance: Allowance = field(default=Allowance())

    def __call__(self, text: str) -> Verdict:
        """`syntax`: one query by sqlglot. `valid`: SQLite runs it, too. Raises QueryFailed if the gold query fails."""
        refusal = syntax_error(text)
        if refusal is not None:
            return Verdict(False, False, False, f"sqlglot: {refusal}")
        try:
            result = self._run(text)
        except QueryFailed as failure:
            source = "SQLite's parser" if failure.syntax else "SQLite"
            return Verdict(True, False, False, f"{source}: {failure}")
        difference = self._difference(text, result)
        return Verdict(True, True, difference is None, difference or "")

    def _difference(self, text: str, result: Result) -> str | None:
        """Difference between the answer's result, given as SQLite has it, and the gold one; None if there is none."""
        gold = self._compared(self.gold)
        plain = self._compared(text)
        if plain != text:
            try:
                result = self._run(plain)
            except QueryFailed as failure:
                return f"without DISTINCT: {failure}"
        wanted = self._run(gold)
        if not wanted.whole:
            raise QueryFailed(f"the gold query has more than {self.allowance.rows} rows")
        ordered = "order by" in self.gold.lower()
        if result.whole and same_result(wanted.rows, result.rows, ordered=ordered):
            return None
        return f"another result: {_size(result)}, not {_size(wanted)}"

    def _compared(self, query: str) -> str:
        return query if self.keep_distinct else without_distinct(query)

    def _run(self, query: str) -> Result:
        return run_query(self.database, query, self.allowance)


def _size(result: Result) -> str:
    columns = len(result.rows[0]) if result.rows else 0
    return f"{len(result.rows)}{'' if result.whole else '+'} rows of {columns} columns"
