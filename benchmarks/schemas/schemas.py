"""Real schemas with valid and invalid instances: how many compile, which verdicts are right, how fast, beside peers.

Each engine has a process of its own, and each schema a limit of time and memory. `--language-only` judges our
grammars alone, without a vocabulary: quicker, and with every refusal and wrong verdict by name.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Sequence
from importlib.metadata import version
from importlib.util import find_spec

from benchmarks.data import tokenizer_folder, write_rows
from benchmarks.peers import find as peers
from benchmarks.schemas import language, masks
from benchmarks.schemas.corpus import Item, read_items
from benchmarks.schemas.masks import OURS, MaskRow
from benchmarks.tables import NOT_INSTALLED, machine, markdown, number, percent, quantile
from benchmarks.vllm.workers import Caps
from server.options.readers import positive, wait, whole


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--n", type=whole, default=0, help="so many schemas, of each collection its share (0: all)")
    parser.add_argument("--tokenizer", default="llama3_1", help="one that scripts/fetch_tokenizers.sh fetches")
    parser.add_argument("--repeats", type=positive, default=3, help="fresh compiles, of which the best counts")
    parser.add_argument("--seconds", type=wait, default=60.0, help="the limit for one schema, all repeats")
    parser.add_argument("--gigabytes", type=positive, default=5, help="the limit for one engine's process")
    parser.add_argument("--peers", nargs="*", choices=peers.NAMES, default=peers.DEFAULT)
    parser.add_argument("--language-only", action="store_true", help="our grammars alone, without a vocabulary")


def run(arguments: Namespace) -> int:
    """Prints the tables and writes the rows."""
    items = read_items(arguments.n)
    if arguments.language_only:
        judged = language.measure(items, arguments.n)
        write_rows(arguments.out, "schemas-language", judged)
        print(language.report(items, judged))
        return 0
    tokenizer_folder(arguments.tokenizer)
    caps = Caps(seconds=arguments.seconds, bytes=arguments.gigabytes << 30)
    missing = [name for name in arguments.peers if find_spec(name.partition("-")[0]) is None]
    engines = [OURS, *(name for name in arguments.peers if name not in missing)]
    rows = masks.measure(
        items, engines, tokenizer=arguments.tokenizer, count=arguments.n, repeats=arguments.repeats, caps=caps
    )
    write_rows(arguments.out, "schemas", rows)
    print(f"{len(items)} schemas, {arguments.tokenizer}, best of {arguments.repeats}\n")
    print(report(items, rows, missing))
    print(f"\n{machine()}")
    return 0


def report(items: Sequence[Item], rows: Sequence[MaskRow], missing: Sequence[str] = ()) -> str:
    """Verdicts over what each engine compiles, times over the schemas that all compile, our wrong verdicts by name."""
    engines = list(dict.fromkeys(row.engine for row in rows))
    by_engine = {engine: [row for row in rows if row.engine == engine] for engine in engines}
    failed = {row.schema for row in rows if row.failure is not None}
    verdicts = [_verdicts(items, _label(engine), by_engine[engine]) for engine in engines]
    verdicts += [[name, NOT_INSTALLED, *["–"] * 6] for name in missing]
    header = ["engine", "compiled", "valid as written", "or in the schema's order", "invalid accepted"]
    header += ["fully right as written", "or in order", "refused / timeout / memory / crash"]
    times = [_times(_label(name), by_engine[name], failed) for name in engines]
    columns = ["engine", "compile ms p50", "p95", "max", "mask µs p50", "p99", "mean"]
    columns += ["again p50", "p99", "steps", "MB each", "given back"]
    parts = [
        markdown(header, verdicts),
        f"Times over the {len(items) - len(failed)} schemas that every engine compiles:",
        markdown(columns, times),
    ]
    disputed = [line for engine in engines for line in _disputed(items, _label(engine), by_engine[engine])]
    if disputed:
        parts.append(markdown(["disputed instances", "valid accepted", "invalid accepted"], disputed))
    wrong = [name for row, item in _taken(items, by_engine.get(OURS, [])) for name in _accepted_wrongly(item, row)]
    parts.append(f"Invalid, yet accepted by {OURS}: {', '.join(wrong) or 'none'}.")
    return "\n\n".join(parts)


def _label(engine: str) -> str:
    return f"{engine} {version(engine.partition('-')[0])}"


def _taken(items: Sequence[Item], rows: Sequence[MaskRow]) -> list[tuple[MaskRow, Item]]:
    return [(row, item) for row, item in zip(rows, items, strict=True) if row.failure is None] if rows else []


def _verdicts(items: Sequence[Item], label: str, rows: Sequence[MaskRow]) -> list[str]:
    taken = _taken(items, rows)
    failures = [sum(row.failure == why for row in rows) for why in ("refused", "timeout", "memory", "crash")]
    return [
        label,
        _share([row.failure is None for row in rows]),
        _share([verdict for row, item in taken for verdict in _of(item, row.written, valid=True)]),
        _share([verdict for row, item in taken for verdict in _of(item, row.reordered, valid=True)]),
        _share([verdict for row, item in taken for verdict in _of(item, row.written, valid=False)]),
        f"{sum(_right(item, row.written) for row, item in taken)}/{len(rows)}",
        f"{sum(_right(item, row.reordered) for row, item in taken)}/{len(rows)}",
        " / ".join(map(str, failures)),
    ]


def _disputed(items: Sequence[Item], label: str, rows: Sequence[MaskRow]) -> list[list[str]]:
    taken = _taken(items, rows)
    shares = [
        [verdict for row, item in taken for verdict in _of(item, row.written, valid=valid, disputed=True)]
        for valid in (True, False)
    ]
    return [[label, *map(_share, shares)]] if any(shares) else []


def _of(item: Item, verdicts: Sequence[bool], *, valid: bool, disputed: bool = False) -> list[bool]:
    pairs = zip(item.instances, verdicts, strict=True)
    return [verdict for one, verdict in pairs if one.valid is valid and one.disputed is disputed]


def _right(item: Item, verdicts: Sequence[bool]) -> bool:
    return all(one.disputed or one.valid is verdict for one, verdict in zip(item.instances, verdicts, strict=True))


def _accepted_wrongly(item: Item, row: MaskRow) -> list[str]:
    pairs = enumerate(zip(item.instances, row.written, strict=True))
    return [f"{item.name} #{at}" for at, (one, verdict) in pairs if verdict and not (one.valid or one.disputed)]


def _times(label: str, rows: Sequence[MaskRow], failed: Collection[str]) -> list[str]:
    common = [row for row in rows if row.schema not in failed]
    compiles, steps = [row.compile_ms for row in common], [step for row in common for step in row.steps_us]
    again = [step for row in common for step in row.again_us]
    if not compiles or not steps:
        return [label, *["–"] * 11]
    cells = [quantile(compiles, share) for share in (0.5, 0.95, 1.0)]
    cells += [quantile(steps, 0.5), quantile(steps, 0.99), sum(steps) / len(steps)]
    cells += [quantile(again, 0.5), quantile(again, 0.99)]
    held = [row.held for row in rows if row.held]
    each = number((held[-1] - held[0]) / (len(held) - 1) / 1e6) if len(held) > 1 else "–"
    returned = [row.returned for row in rows if row.returned]
    back = number(returned[0] / len(held) / 1e6) if returned else "–"
    return [label, *map(number, cells), str(len(steps)), each, back]


def _share(verdicts: Sequence[bool]) -> str:
    return f"{percent(sum(verdicts), len(verdicts))} ({sum(verdicts)}/{len(verdicts)})"
