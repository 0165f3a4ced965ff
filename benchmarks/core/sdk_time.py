"""Time to compile and certify the schemas of pydantic models in installed packages, at a budget of the minimum.

Every model's schema counts once, however many models have it. Of what was solved before, each compile knows the rules
of JSON itself and nothing else. Answers of the minimum are followed to their ends, outside of the time.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pkgutil import walk_packages
from time import process_time

from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

from benchmarks.core.compile_time import forget_all_but_json
from benchmarks.data import read_vocabulary, tokenizer_folder, write_rows
from benchmarks.maskbench.archive import spread
from benchmarks.tables import machine, markdown, number, quantile
from grammar_cache import Constraint, GrammarError, Vocabulary, compile_grammar
from server.commands.garbage import keep_what_is_loaded
from server.options.readers import whole


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model's schema: processor milliseconds to compile it and to find its minimum; `refusal` None: it compiles."""

    model: str
    compile_ms: float
    search_ms: float
    tokens: int
    exact: bool
    refusal: str | None


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("packages", nargs="*", default=["openai", "anthropic", "mcp"], help="packages to look through")
    parser.add_argument("--n", type=whole, default=660, help="schemas, evenly spread over the sorted names (0: all)")
    parser.add_argument("--tokenizer", default="llama3_1", help="one that scripts/fetch_tokenizers.sh fetches")


def run(arguments: Namespace) -> int:
    """Prints a table and writes the rows."""
    vocabulary = read_vocabulary(tokenizer_folder(arguments.tokenizer))
    found = {name: schema for package in arguments.packages for name, schema in _schemas(package)}
    named = {schema: name for name, schema in sorted(found.items(), reverse=True)}
    schemas = {name: schema for schema, name in named.items()}
    keep_what_is_loaded()  # as a server does
    rows = [_row(vocabulary, name, schemas[name]) for name in spread(sorted(schemas), arguments.n)]
    write_rows(arguments.out, "sdk", rows)
    print(f"{len(rows)} of {len(schemas)} schemas, {arguments.tokenizer}, processor time in ms\n\n{report(rows)}")
    print(f"\n{machine()}")
    return 0


def report(rows: list[ModelRow]) -> str:
    """Table of times over the schemas that compile."""
    kept = [row for row in rows if row.refusal is None]
    if not kept:
        return "no schema compiles"
    times = {
        "compile": [row.compile_ms for row in kept],
        "exact search of the minimum": [row.search_ms for row in kept],
        "both": [row.compile_ms + row.search_ms for row in kept],
    }
    lines = [[part, *(number(quantile(each, share)) for share in (0.5, 0.95, 1.0))] for part, each in times.items()]
    exact = sum(row.exact for row in kept)
    told = f"{len(kept)} compile, {exact} minima are exact, {len(rows) - len(kept)} are refused.\n\n"
    return told + markdown(["", "p50", "p95", "max"], lines)


def _schemas(package: str) -> Iterator[tuple[str, str]]:
    """Names and schemas of the models in a package, that of a missing package told and left out."""
    try:
        root = import_module(package)
    except ModuleNotFoundError:
        print(f"{package} isn't installed: left out")
        return
    failed = 0
    for entry in walk_packages(getattr(root, "__path__", []), f"{package}.", onerror=lambda _: None):
        try:
            module = import_module(entry.name)
        except Exception:  # what a module needs may be missing, or it may refuse to be imported: told below
            failed += 1
            continue
        for name, model in vars(module).items():
            if isinstance(model, type) and issubclass(model, BaseModel) and model.__module__ == entry.name:
                try:
                    yield f"{entry.name}.{name}", json.dumps(model.model_json_schema())
                except (PydanticInvalidForJsonSchema, PydanticUserError):
                    failed += 1
    print(f"{package}: {failed} modules and models without a schema")


def _row(vocabulary: Vocabulary, name: str, schema: str) -> ModelRow:
    forget_all_but_json(vocabulary)
    begun = process_time()
    try:
        grammar = compile_grammar(Constraint("json_schema", schema), vocabulary)
        compiled = process_time()
        minimum = grammar.minimum
    except GrammarError as error:
        return ModelRow(name, 0.0, 0.0, 0, exact=False, refusal=str(error))
    found = process_time()
    used = len(grammar.witness(grammar.start, minimum.tokens))
    if used > minimum.tokens:
        raise AssertionError(f"{name}: an answer of {used} tokens, more than {minimum.tokens}")
    milliseconds = (round(1000 * (compiled - begun), 4), round(1000 * (found - compiled), 4))
    return ModelRow(name, *milliseconds, minimum.tokens, minimum.exact, None)
