"""Real schemas with instances: JSONSchemaBench's published sample, as rows of a file. Knows no engine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.data import data_file

CORPUS = Path("jsonschemabench", "corpus.jsonl")


@dataclass(frozen=True, slots=True)
class Instance:
    """A JSON text; `disputed`: validators don't agree whether it is valid."""

    text: str
    valid: bool
    disputed: bool


@dataclass(frozen=True, slots=True)
class Item:
    """One schema as its text, keys in their order; `split`: the collection that it comes from."""

    name: str
    split: str
    schema: str
    instances: tuple[Instance, ...]


def read_items(count: int = 0) -> list[Item]:
    """`count` schemas, of each collection its share; all with 0. Raises MissingData."""
    with data_file(CORPUS).open(encoding="utf-8") as lines:
        items = [_item(json.loads(line)) for line in lines]
    return _sample(items, count) if count else items


def _sample(items: Sequence[Item], count: int) -> list[Item]:
    """Every k-th of the items in the order of their collections."""
    by_split = sorted(items, key=lambda item: item.split)
    count = min(count, len(by_split))
    return [by_split[at * len(by_split) // count] for at in range(count)]


def _item(row: dict[str, Any]) -> Item:
    instances = (Instance(one["text"], one["valid"], bool(one.get("disputed"))) for one in row["tests"])
    return Item(row["id"], row["split"], json.dumps(row["schema"], ensure_ascii=False), tuple(instances))
