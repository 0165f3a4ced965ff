"""Language of real schemas, generated without a vocabulary: the grammar alone, in a process of its own.

Run as a module it answers `benchmarks.vllm.workers`.
"""

from __future__ import annotations

import json
import re
import sys
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import Any

from benchmarks.schemas.corpus import Item, read_items
from benchmarks.schemas.order import in_schema_order
from benchmarks.tables import markdown, percent
from benchmarks.vllm.workers import Caps, Failed, Worker
from grammar_cache import Constraint, GrammarError
from grammar_cache.compile import parse
from grammar_cache.dialects.json_schema.schema.keywords import ANNOTATIONS, ENFORCED, REFUSED
from grammar_cache.limits import DEFAULT_LIMITS
from server.checking import member_order
from server.checking.membership import Recogniser

CAPS = Caps(setup=60, seconds=20, bytes=3 << 30)
_LIMITS = replace(DEFAULT_LIMITS, configurations=2_000_000)
_WORDS = re.compile(r": .*|'[^']*'|\d+")


@dataclass(frozen=True, slots=True)
class LanguageRow:
    """One schema: `failure` None means that it compiles, else it is a code, and `reason` says more.

    `written`, `ordered` and `reordered`: whether the grammar derives each instance, as it is, or if it is valid with
    members in the schema's order, or in any order. `searched`: whether there was time to look for any order; if not,
    `reordered` is `ordered`.
    """

    schema: str
    split: str
    failure: str | None
    reason: str
    keyword: str
    milliseconds: float
    written: tuple[bool, ...] = ()
    ordered: tuple[bool, ...] = ()
    reordered: tuple[bool, ...] = ()
    searched: bool = True


def measure(items: Sequence[Item], count: int) -> list[LanguageRow]:
    """`items` are those that `read_items(count)` gives."""
    worker = Worker("benchmarks.schemas.language", ["--n", str(count)], CAPS)
    rows = []
    try:
        for place, item in enumerate(items):
            rows.append(_row(worker, place, item))
    finally:
        worker.close()
    return rows


def _row(worker: Worker, place: int, item: Item) -> LanguageRow:
    """Row of a schema. An item that takes too long is asked once more, without the search for other orders."""
    for searched in (True, False):
        try:
            return LanguageRow(**worker.ask([place, searched]))
        except Failed as failure:
            why = str(failure)
    return LanguageRow(item.name, item.split, why, "", "", 0.0)


def report(items: Sequence[Item], rows: Sequence[LanguageRow]) -> str:
    """Shares, then the refusals by reason, and every verdict that is wrong."""
    taken = [(item, row) for item, row in zip(items, rows, strict=True) if row.failure is None]
    lines = [["schemas compiled", *_share(row.failure is None for row in rows)]]
    for disputed in (False, True):
        mark = " (disputed)" if disputed else ""
        for valid, column, label in (
            (True, "written", "valid accepted as written"),
            (True, "ordered", "valid accepted, members in the schema's order"),
            (True, "reordered", "valid accepted, members in some order"),
            (False, "written", "invalid accepted"),
            (False, "reordered", "invalid accepted, members in some order"),
        ):
            verdicts = list(_verdicts(taken, valid, disputed, column))
            if verdicts or not disputed:
                lines.append([label + mark, *_share(verdict for _, verdict in verdicts)])
    for column, label in (
        ("written", "fully right as written"),
        ("ordered", "fully right, members in the schema's order"),
        ("reordered", "fully right, members in some order"),
    ):
        lines.append([label, *_share(_right(item, getattr(row, column)) for item, row in taken)])
    lines.append(["looked for some order to the end", *_share(row.searched for _, row in taken)])
    parts = [markdown(["over the corpus", "share", "count"], lines), _refusals(rows), _wrong(taken)]
    return "\n\n".join(parts)


def _share(verdicts: Iterable[bool]) -> list[str]:
    each = list(verdicts)
    return [percent(sum(each), len(each)), f"{sum(each)}/{len(each)}"]


def _verdicts(
    taken: Sequence[tuple[Item, LanguageRow]], valid: bool, disputed: bool, column: str
) -> Iterable[tuple[str, bool]]:
    for item, row in taken:
        for number, (instance, verdict) in enumerate(zip(item.instances, getattr(row, column), strict=True)):
            if instance.valid is valid and instance.disputed is disputed:
                yield f"{item.name} #{number}", verdict


def _right(item: Item, verdicts: Sequence[bool]) -> bool:
    return all(one.disputed or one.valid == verdict for one, verdict in zip(item.instances, verdicts, strict=True))


def _refusals(rows: Sequence[LanguageRow]) -> str:
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for row in rows:
        if row.failure is not None:
            found[row.failure, row.keyword, _WORDS.sub("", row.reason)].append(row.schema)
    lines = [
        [" ".join(filter(None, key)), str(len(names)), ", ".join(names[:3])]
        for key, names in sorted(found.items(), key=lambda entry: -len(entry[1]))
    ]
    return markdown(["refused", "schemas", "such as"], lines)


def _wrong(taken: Sequence[tuple[Item, LanguageRow]]) -> str:
    accepts = [name for name, verdict in _verdicts(taken, False, False, "reordered") if verdict]
    rejects = [name for name, verdict in _verdicts(taken, True, False, "reordered") if not verdict]
    parts = []
    for label, names in (("Invalid, yet accepted", accepts), ("Valid, yet not accepted in any order", rejects)):
        parts.append(f"{label} ({len(names)}):\n" + ("\n".join(f"- {name}" for name in names) or "- none"))
    return "\n\n".join(parts)


def judge(item: Item, searched: bool = True) -> LanguageRow:
    """One schema, in this process. Without being `searched`, no order is tried but those written and the schema's."""
    begun = perf_counter()
    try:
        table = Recogniser(parse(Constraint("json_schema", item.schema)), _LIMITS).table
        spent = (perf_counter() - begun) * 1000
        written = tuple(member_order.derives(table, instance.text) for instance in item.instances)
        ordered = tuple(
            verdict or (one.valid and member_order.derives(table, in_schema_order(one.text, item.schema)))
            for one, verdict in zip(item.instances, written, strict=True)
        )
        reordered = tuple(
            verdict or (searched and _generated(table, one.text))
            for one, verdict in zip(item.instances, ordered, strict=True)
        )
    except GrammarError as error:
        spent = (perf_counter() - begun) * 1000
        return LanguageRow(item.name, item.split, error.code, error.message, _keyword(error.pointer), spent)
    spent = round(spent, 3)
    return LanguageRow(item.name, item.split, None, "", "", spent, written, ordered, reordered, searched)


def _generated(table: member_order.Table, text: str) -> bool:
    try:
        value = member_order.read(text)
    except ValueError:
        return False
    return member_order.generated(table, value) is not None


def _keyword(pointer: str | None) -> str:
    """The last name in a pointer that is a keyword."""
    names = (pointer or "").split("/")
    return next((name for name in reversed(names) if name in ENFORCED | ANNOTATIONS | set(REFUSED)), "")


def main(words: Sequence[str]) -> int:
    """Answers the places of items, and whether to search, with their rows, until the input ends."""
    parser = ArgumentParser()
    parser.add_argument("--n", type=int, default=0)
    items = read_items(parser.parse_args(words).n)
    print("true", flush=True)
    for line in sys.stdin:
        place, searched = json.loads(line)
        answer: dict[str, Any] = asdict(judge(items[place], searched))
        print(json.dumps(answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
